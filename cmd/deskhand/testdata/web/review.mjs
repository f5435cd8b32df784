// The stories of a review: what an attempt changed is read in the browser, said
// something about, and sent back.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessible, until } from './desk.mjs'
import { attempt, work } from './board.mjs'

const completed = page => page.locator('#standing').getByText('completed').waitFor()
const clean = page => assert.deepEqual(page.errors, [])
const go = `package price\n\n// Round rounds.\nfunc Round(euros float64) int {\n\treturn int(euros * 100)\n}\n\nvar table = []string{\n${Array.from({ length: 60 }, (_, i) => `\t"line ${i}",\n`).join('')}}\n`
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

// shop has a file of Go, a picture and a file that is renamed.
const files = { 'price/price.go': go, 'price/old.txt': 'one\ntwo\nthree\nfour\nfive\n', 'logo.png': Buffer.from(pixel, 'base64') }
const script = [
  `run sed -i 's/euros \\* 100)/euros*100 + 0.5)/; s/"line 50"/"line fifty"/' price/price.go`,
  'run mv price/old.txt price/new.txt',
  'run printf x >> logo.png',
  'run printf "  tea 1.20\\ncoffee 2.50\\nwater 0.90\\n" > prices.txt',
  'say Done.',
]

async function reviewed(desk, ...more) {
  await work(desk, files)
  const one = await attempt(desk, 'Round', ...script, ...more)
  return one
}

export const stories = {
  async 'review: files, lines, words and pictures'(desk) {
    const one = await reviewed(desk)
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    await page.reload()
    const tree = page.getByRole('navigation', { name: 'Changed files' })
    assert.deepEqual((await tree.locator('a').allInnerTexts()).map(t => t.replace(/\s+/g, ' ').trim()), ['logo.png binary', 'new.txt renamed', 'price.go +2 −2', 'prices.txt +2 −2'])
    const file = page.locator('.file', { hasText: 'price.go' }).first()
    await file.locator('tr.add').first().waitFor()
    assert.ok((await file.locator('tr.add mark').allInnerTexts()).includes('fifty'))
    assert.equal(await file.locator('tr.add i.k').first().innerText(), 'return')
    assert.equal(await file.locator('tr.add td.n').nth(1).innerText(), '5')
    await accessible(page, 'a review')
    await file.getByRole('link', { name: /Show \d+ lines/ }).first().click()
    await file.getByText('"line 20",').waitFor()
    await page.locator('.file', { hasText: 'logo.png' }).locator('img').first().waitFor()
    await until('both pictures', () => page.evaluate(() => [...document.querySelectorAll('.pictures img')].length === 2))
    await page.getByText('from shop/price/old.txt').waitFor()
    await page.getByLabel('Layout').selectOption('split')
    await page.locator('table.split').first().waitFor()
    await accessible(page, 'a review side by side')
    await page.getByLabel('ignore white space').check()
    await page.waitForURL(/space=off/)
    assert.equal(await page.locator('.file', { hasText: 'prices.txt' }).locator('tr.del, tr.add').count(), 1) // water
    await page.getByLabel('against').selectOption({ label: 'its current target' })
    await page.waitForURL(/with=target/)
    await page.locator('.file').first().waitFor()
    clean(page)
  },

  async 'review: odd files, and another attempt'(desk) {
    await work(desk, { 'crlf.txt': 'a\r\nb\r\n', 'latin.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9, 10]), 'min.js': 'var a=1;' + 'x'.repeat(100000) + '\n', 'a b "c" ü.txt': 'x\n', 'big/moved.md': Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join(''), 'link.txt': 'x\n' })
    const one = await attempt(desk, 'Odd', String.raw`run printf 'a\r\nB\r\n' > crlf.txt`, String.raw`run printf 'caf\351s\n' > latin.txt`, 'run sed -i s/a=1/a=2/ min.js', `run echo y >> 'a b "c" ü.txt'`, 'run mkdir elsewhere; git mv big/moved.md elsewhere/; sed -i "s/line 30/LINE thirty/" elsewhere/moved.md', 'run rm link.txt; ln -s README.md link.txt')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    const other = JSON.parse(await desk.run('tasks', 'start', one.task.split('/').pop(), '--executor', 'fake', '--prompt', 'write extra.txt hi', '--json'))
    await page.goto(desk.base + '/work/attempts/' + other.attempt_id)
    await page.locator('#standing').getByText('completed').waitFor()
    await page.goto(desk.base + one.path)
    const file = name => page.locator('.file', { has: page.locator('summary', { hasText: name }) })
    for (const [name, line] of Object.entries({ 'crlf.txt': 'B', 'latin.txt': 'caf\ufffds', 'a b "c" ü.txt': 'y', 'moved.md': 'LINE thirty', 'link.txt': 'README.md' })) {
      await file(name).locator('tr.add', { hasText: line }).waitFor()
    }
    await page.getByText('from shop/big/moved.md').waitFor()
    await file('min.js').locator('tr.add', { hasText: 'more characters' }).waitFor()
    assert.ok(await file('min.js').evaluate(e => e.getBoundingClientRect().height) < 3000, 'a long line fills many screens')
    await file('min.js').getByRole('link', { name: 'Whole file' }).click()
    await until('it is whole', async () => (await file('min.js').locator('tr.add').innerText()).length > 100000)
    await page.getByLabel('against').selectOption({ index: 2 })
    await page.waitForURL(/with=/)
    await file('extra.txt').locator('tr.del', { hasText: 'hi' }).waitFor() // the other has it
    clean(page)
  },

  async 'review: two people see the same, from viewing to landing'(desk) {
    const one = await reviewed(desk)
    const [ada, bob] = [await desk.window(one.path), await desk.window(one.path)]
    for (const page of [ada, bob]) {
      await page.locator('#standing').getByText('completed').waitFor()
      await page.reload()
      await page.getByText('0 of 4 viewed').waitFor()
    }
    const file = (page, name) => page.locator('.file', { has: page.locator('summary', { hasText: name }) })
    await file(ada, 'price.go').getByRole('button', { name: 'Viewed' }).click()
    await ada.getByText('1 of 4 viewed').waitFor()
    await bob.getByText('1 of 4 viewed').waitFor()
    assert.ok(await file(bob, 'price.go').locator('details').evaluate(d => d.open), 'a file is folded because somebody else has viewed it')
    await file(bob, 'price.go').getByRole('button', { name: 'Viewed' }).click()
    await ada.getByText('0 of 4 viewed').waitFor()

    // Both comment at the same time, on the same line and on others.
    const write = async (page, line, text) => {
      await file(page, 'prices.txt').locator(`td.n[data-at=n${line}]`).first().click()
      await page.locator('.file', { hasText: 'prices.txt' }).getByLabel(`Comment on line ${line}`, { exact: true }).last().fill(text)
    }
    await Promise.all([write(ada, 1, 'Ada on 1.'), write(bob, 1, 'Bob on 1.')])
    await Promise.all([write(ada, 2, 'Ada on 2.'), write(bob, 3, 'Bob on 3.')])
    for (const page of [ada, bob]) {
      await page.getByText('with my comments on the changes (4)').waitFor()
      await page.evaluate(() => document.activeElement.blur())
    }
    const plain = await desk.window(one.path, { javaScriptEnabled: false })
    assert.deepEqual((await plain.locator('.comment textarea').evaluateAll(all => all.map(t => t.value))).sort(), ['Ada on 1.', 'Ada on 2.', 'Bob on 1.', 'Bob on 3.'])
    const identity = ['GIT_AUTHOR_NAME', 'GIT_COMMITTER_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_COMMITTER_EMAIL']
    for (const name of identity) desk.env[name] = 'ada@example.org'
    await desk.run('tasks', 'land', one.id, '--yes')
    for (const page of [ada, bob]) await page.locator('#standing').getByText('landed').first().waitFor()
    clean(ada), clean(bob)
  },

  async 'review: what was viewed stays so until it changes'(desk) {
    const one = await reviewed(desk)
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    await page.reload()
    const file = name => page.locator('.file', { has: page.locator('summary', { hasText: name }) })
    const viewed = name => file(name).getByRole('button', { name: 'Viewed' })
    await viewed('price.go').click()
    await until('it is folded', async () => !await file('price.go').locator('details').evaluate(d => d.open))
    await viewed('prices.txt').click()
    await until('both are viewed', async () => await page.locator('.file.viewed').count() === 2)
    const other = await desk.window(one.path, { javaScriptEnabled: false })
    assert.equal(await other.locator('.file.viewed').count(), 2)
    await page.getByLabel('Message to the agent').fill('write prices.txt tea 1.00')
    await page.getByRole('button', { name: 'Send' }).click()
    await until('what has changed is not viewed any more', async () => { await other.reload(); return await other.locator('.file.viewed').count() === 1 && await other.locator('#standing').getByText('completed').count() })
    assert.equal(await other.locator('.file.viewed summary').innerText().then(t => t.includes('price.go')), true)
    await other.locator('.file', { hasText: 'new.txt' }).getByRole('button', { name: 'Viewed' }).click()
    assert.equal(await other.locator('.file.viewed').count(), 2) // without the script
    clean(page)
  },

  async 'review: changes that come while the page is open can be read and commented on'(desk) {
    const go = join(desk.dir, 'go'), until2 = join(desk.dir, 'until2')
    await work(desk, files)
    const one = await attempt(desk, 'Round', `run until test -e ${go}; do sleep 0.1; done`, ...script.slice(0, 1), `run until test -e ${until2}; do sleep 0.1; done`, 'run echo more > more.txt', 'say Done.')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('running').waitFor()
    await page.getByText('Nothing has changed.').waitFor()
    writeFileSync(go, '')
    const file = page.locator('.file', { hasText: 'price.go' })
    await file.locator('tr.add').first().waitFor()
    assert.equal(await page.locator('.looks').getByRole('button', { name: 'Show' }).count(), 0) // a choice is enough
    await page.keyboard.press('j')
    await until('the keys go to it', () => page.evaluate(() => document.activeElement.matches('.file.here summary')))
    writeFileSync(until2, '')
    await page.getByRole('link', { name: /more\.txt/ }).waitFor() // although a file has the focus, which stays
    await until('the focus stays', () => page.evaluate(() => document.activeElement.closest('.file')?.dataset.path === 'shop/price/price.go'))
    await page.locator('#standing').getByText('completed').waitFor()
    await file.locator('tr.add td.n').nth(1).click()
    await page.getByLabel('Comment on line 5').fill('Half up, please.')
    await page.getByText('Draft saved').waitFor()
    await page.getByLabel('Layout').selectOption('split')
    await page.locator('table.split').first().waitFor()
    clean(page)
  },

  async 'review: the message box is in the window, or one press away'(desk) {
    const one = await reviewed(desk)
    const page = await desk.window(one.path, { viewport: { width: 1280, height: 720 } })
    await page.locator('#standing').getByText('completed').waitFor()
    await page.reload()
    const inWindow = what => what.evaluate(e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })
    assert.ok(await inWindow(page.getByRole('button', { name: 'Send', exact: true })), 'the button to send is not in the window')
    assert.equal(await page.getByRole('link', { name: 'Message to the agent' }).count(), 0)
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    assert.ok(await inWindow(page.getByRole('button', { name: 'Send', exact: true })), 'the button to send has gone')
    await page.keyboard.press('X')
    await until('all files are folded', async () => await page.locator('.files details[open]').count() === 0)
    await page.keyboard.press('X')
    await until('all files are unfolded', async () => await page.locator('.files details:not([open])').count() === 0)
    await page.keyboard.press('m')
    assert.ok(await page.getByLabel('Message to the agent').evaluate(e => e === document.activeElement))
    const small = await desk.window(one.path, { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true })
    assert.equal(await small.evaluate(() => document.documentElement.scrollWidth), 390)
    assert.equal(await small.locator('#keys-review').isVisible(), false) // there are none
    await small.evaluate(() => scrollTo(0, document.body.scrollHeight - 1200))
    const link = small.getByRole('link', { name: 'Message to the agent' })
    assert.ok(await inWindow(link), 'the box is far away')
    await link.tap()
    await link.waitFor({ state: 'hidden' })
    assert.ok(await inWindow(small.getByLabel('Message to the agent')))
    await accessible(small, 'a review on a phone')
    clean(page), clean(small)
  },

  async 'review: keys, and many lines at once'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Much', 'run mkdir many && for f in $(seq 10 69); do for i in $(seq 667); do echo "func line$i() { return $f }"; done > many/file$f.go; done', 'say Done.')
    const page = await desk.window(one.path + '?all=1')
    await page.locator('#standing').getByText('completed').waitFor()
    await page.goto(desk.base + one.path + '?all=1')
    await page.getByText('60 files').waitFor()
    const times = []
    for (let i = 0; i < 5; i++) {
      const start = Date.now()
      await page.goto(desk.base + one.path + '?all=1')
      await page.getByRole('link', { name: /file69/ }).waitFor()
      times.push(Date.now() - start)
    }
    console.log(`     60 files, 40,020 lines: tree usable after ${times.sort((a, b) => a - b)[2]} ms (median of 5: ${times}), ${(await page.content()).length} characters`)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    assert.match(await page.locator('.file.here summary').innerText(), /file11/)
    await page.keyboard.press('x')
    await page.locator('.file.here tr.add').first().waitFor()
    await page.keyboard.press('n')
    await page.keyboard.press('v')
    await until('it is viewed', async () => await page.locator('.file.viewed').count() === 1)
    await page.keyboard.press('k')
    assert.match(await page.locator('.file.here summary').innerText(), /file10/)
    clean(page)
  },
}
Object.assign(stories, {
  async 'comments: drafts that are shared, survive a kill, and are sent as one message'(desk) {
    const one = await reviewed(desk, 'say And then.')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    await page.reload()
    const file = (window, name) => window.locator('.file', { has: window.locator('summary', { hasText: name }) })
    await file(page, 'price.go').locator('tr.add td.n').nth(1).click()
    const first = page.getByLabel('Comment on line 5')
    await first.fill('Half up, please.')
    await page.getByText('Draft saved').waitFor()
    const other = await desk.window(one.path)
    const there = other.getByLabel('Comment on line 5')
    assert.equal(await there.inputValue(), 'Half up, please.')
    await there.fill('Half up, as on the invoice.')
    await until('the first window has it', async () => await first.inputValue() === 'Half up, as on the invoice.')
    await accessible(page, 'a review with a comment')

    // A range, with the server killed in the middle of it.
    await file(page, 'prices.txt').locator('tr.add td.n').nth(1).click()
    await page.getByLabel('Comment on line 1').waitFor()
    await page.getByRole('button', { name: 'Delete' }).last().click()
    await until('it is gone', async () => await page.getByLabel('Comment on line 1').count() === 0)
    await file(page, 'prices.txt').locator('tr td.n[data-at=n1]').click()
    await page.getByLabel('Comment on line 1').waitFor()
    await file(page, 'prices.txt').locator('tr td.n[data-at=n3]').click({ modifiers: ['Shift'] })
    const range = page.getByLabel('Comment on lines 1 to 3')
    await range.waitFor()
    desk.web.kill('SIGKILL')
    await desk.web.ended
    await range.pressSequentially('Why spaces?')
    await page.getByText('Not connected').first().waitFor()
    await page.close() // and the browser is closed
    desk.web = desk.start(desk.webArgs)
    await desk.up()
    const again = await other.context().newPage()
    await page.context().newPage().then(p => p.goto(desk.base + one.path)) // the window that had typed it
    await again.goto(desk.base + one.path)
    await until('what was typed is back', async () => { await again.reload(); return await again.getByLabel('Comment on lines 1 to 3').inputValue({ timeout: 1000 }) === 'Why spaces?' })

    // Without the script.
    const plain = await desk.window(one.path + '/file?path=' + encodeURIComponent('shop/price/price.go'), { javaScriptEnabled: false })
    await plain.getByLabel('Comment on line', { exact: true }).fill('3')
    await plain.getByRole('button', { name: 'Comment', exact: true }).click()
    await plain.getByLabel('Comment on line 3').fill('Say how.')
    await plain.locator('.comment', { hasText: 'line 3' }).getByRole('button', { name: 'Save draft' }).click()
    await plain.waitForURL(url => url.pathname === one.path)
    await plain.getByText('with my comments on the changes (3)').waitFor()
    await plain.getByLabel('Message to the agent').fill(String.raw`write price/price.go package price\n\n// Round rounds half up.\n`)
    await plain.getByRole('button', { name: 'Send' }).click()
    await until('it has worked', async () => { await plain.reload(); return await plain.locator('#standing').getByText('completed').count() && await plain.locator('.remark .chip.warn').count() })
    const told = await desk.run('tasks', 'messages', one.id, '--json').catch(() => desk.run('tasks', 'logs', one.id))
    for (const words of ['price/price.go`, line 5', 'Half up, as on the invoice.', 'Why spaces?', 'lines 1 to 3', 'coffee 2.50', 'Say how.']) assert.ok(told.includes(words), `the agent was not told ${words}: ${told}`)
    assert.equal(await plain.getByText('my comments on the changes').filter({ visible: true }).count(), 0)
    assert.equal(await plain.locator('.remark', { hasText: 'Half up' }).getByText('changed since').count(), 1)
    assert.equal(await plain.locator('.remark', { hasText: 'Why spaces' }).getByText('changed since').count(), 0)
    await accessible(again, 'a review whose comments were sent')
    clean(page), clean(other)
  },
})
Object.assign(stories, {
  async 'comments: one on removed lines is marked when what replaces them changes'(desk) {
    const one = await reviewed(desk)
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    await page.reload()
    await page.locator('.file', { hasText: 'prices.txt' }).locator('td.n[data-at=o1]').click()
    await page.getByLabel('Comment on line 1 before the change').fill('Why not as before?')
    await page.getByText('Draft saved').waitFor()
    await page.locator('.file', { hasText: 'price.go' }).first().locator('td.n[data-at=o5]').click()
    await page.getByLabel('Comment on line 5 before the change').fill('This was right.')
    await until('both are saved', async () => await page.getByText('Draft saved').count() === 2)
    await page.reload()
    assert.equal(await page.getByText('changed since').count(), 0)
    await page.getByLabel('Message to the agent').fill(String.raw`write prices.txt   tea 1.30\ncoffee 2.50\nwater 0.90\n`)
    await page.getByRole('button', { name: 'Send' }).click()
    await until('it has worked', async () => { await page.reload(); return await page.locator('#standing').getByText('completed').count() && await page.locator('tr.add', { hasText: '1.30' }).count() })
    assert.equal(await page.locator('.remark', { hasText: 'Why not' }).getByText('changed since').count(), 1)
    assert.equal(await page.locator('.remark', { hasText: 'This was right' }).getByText('changed since').count(), 0)
    await page.getByLabel('ignore white space').check() // another comparison does not know it
    await page.waitForURL(/space=off/)
    clean(page)
  },

  async 'conversation: a question is answered beside it, or in the inbox'(desk) {
    const one = await reviewed(desk, 'ask Which name?', 'say Thanks.')
    const page = await desk.window(one.path, { viewport: { width: 1440, height: 900 } })
    const pane = page.locator('#pane'), box = locator => locator.evaluate(e => { const r = e.getBoundingClientRect(); return { top: r.top, bottom: r.bottom, left: r.left, right: r.right } })
    await page.getByRole('textbox', { name: 'Which name?' }).waitFor()
    const [card, talk, send] = [await box(pane), await box(page.locator('.talkside')), await box(page.getByRole('button', { name: 'Queue until this run ends' }))]
    assert.ok(card.left >= talk.right && Math.abs(card.top - talk.top) < 5, 'the question is not beside the conversation')
    assert.ok(send.bottom <= 900, 'the question pushes the message box out of the window')
    await accessible(page, 'a question beside its conversation')
    const inbox = await desk.window('/')
    await page.getByRole('textbox', { name: 'Which name?' }).fill('Half of a na')
    await page.getByRole('link', { name: 'in the inbox' }).click()
    await page.waitForURL(/\/inbox\//)
    const field = page.getByRole('textbox', { name: 'Which name?' })
    assert.equal(await field.inputValue(), 'Half of a na') // one draft
    await page.goBack()
    await inbox.getByRole('link', { name: /Which name/ }).first().click()
    await inbox.getByRole('textbox', { name: 'Which name?' }).fill('Half of a name')
    await until('the attempt shows it', async () => await page.getByRole('textbox', { name: 'Which name?' }).inputValue() === 'Half of a name')
    const small = await desk.window(one.path, { viewport: { width: 320, height: 640 }, javaScriptEnabled: false })
    const [above, below] = [await box(small.locator('#pane')), await box(small.locator('.talkside'))]
    assert.ok(above.bottom <= below.top, 'on a phone the question does not come first')
    await small.getByRole('textbox', { name: 'Which name?' }).fill('A name')
    await small.getByRole('button', { name: 'Send answer' }).click()
    await page.locator('#log').getByText('Thanks.', { exact: true }).waitFor()
    clean(page), clean(inbox)
  },

  async 'conversation: a long one is light, also after it was followed for long'(desk) {
    const go = join(desk.dir, 'go')
    desk.env.DESKHAND_CONFIG = join(desk.dir, 'deskhand.yaml')
    writeFileSync(desk.env.DESKHAND_CONFIG, `tasks:\n  executors:\n    printer: {kind: shell, command: [awk, 'BEGIN { for (i = 1; i <= 20000; i++) printf "line %d of a log with lines of some length, as those of a build\\n", i }', '{{prompt}}']}\n`)
    await work(desk)
    const one = await attempt(desk, 'Talk', `run until test -e ${go}; do sleep 0.1; done`, 'spam 1500', 'say The end.')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('running').waitFor()
    writeFileSync(go, '')
    await page.locator('#log').getByText('The end.', { exact: true }).last().waitFor()
    const count = await page.locator('#log > li').count()
    assert.ok(count <= 500, `${count} entries are in the page`)
    const first = Number((await page.locator('#log > li').first().textContent()).match(/line (\d+)/)[1])
    await page.getByRole('link', { name: 'Older entries' }).click()
    await page.waitForURL(/before=/)
    await page.locator('#log').getByText(`line ${first - 1}`, { exact: true }).waitFor() // none is left out
    const task = JSON.parse(await desk.run('tasks', 'add', 'Print', '--project', 'shop', '--json')).task_id
    const long = JSON.parse(await desk.run('tasks', 'start', task, '--executor', 'printer', '--json')).attempt_id
    const other = await desk.window('/work/attempts/' + long)
    await completed(other)
    await other.goto(desk.base + '/work/attempts/' + long)
    await other.locator('#log').getByText('line 20000 of').waitFor() // 1.4 MB in entries of 8 KiB
    const size = await other.evaluate(() => document.querySelector('#log').textContent.length)
    assert.ok(size < 300 << 10, `the page has ${size} characters of the log`)
    clean(page), clean(other)
  },

  async 'conversation: all runs as one, newest in sight, with what failed and words to find'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Talk', 'spam 80', 'say | a | b |', 'run false', 'say first needle')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    const scroller = page.locator('#scroller')
    const seen = text => until(text + ' is in sight', () => page.locator('#log').getByText(text, { exact: true }).last().evaluate(el => { const a = el.getBoundingClientRect(), b = document.getElementById('scroller').getBoundingClientRect(); return a.bottom <= b.bottom + 5 && a.top >= b.top - 5 }))
    await page.reload()
    await seen('first needle')
    const box = page.getByLabel('Message to the agent')
    assert.ok(await box.evaluate(el => el.getBoundingClientRect().bottom <= innerHeight), 'the message box is not in the window')
    await box.fill('say **second**\nask Really?\nrun echo ' + join('$PWD', 'prices.txt') + '\nthink Hm.')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('textbox', { name: 'Really?' }).waitFor()
    await page.locator('#log').getByText('first needle', { exact: true }).waitFor() // the run before is there too
    await page.locator('#log strong', { hasText: 'second' }).last().waitFor()
    await page.getByRole('button', { name: 'Queue' }).waitFor()
    await box.fill('run sh -c "exit 3"\nsay third')
    await page.getByRole('button', { name: 'Queue' }).click()
    await page.getByText('Queued:').waitFor()
    await page.getByRole('textbox', { name: 'Really?' }).fill('yes')
    await page.getByRole('button', { name: 'Send answer' }).click()
    await page.locator('#log').getByText('third', { exact: true }).last().waitFor() // without loading the page again
    await page.locator('#standing').getByText('completed').waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    assert.equal(await page.locator('#log .run').count(), 3)
    await seen('third')
    await accessible(page, 'a conversation')
    await page.getByRole('link', { name: '2 failures' }).waitFor() // counted while the page is open
    await page.reload()
    await page.getByRole('link', { name: '2 failures' }).click()
    await until('the failure has the focus', () => page.evaluate(() => document.activeElement.matches('.fail') && document.activeElement.innerText.includes('false')))
    await page.getByRole('link', { name: '2 failures' }).click()
    await until('the next one has it', () => page.evaluate(() => document.activeElement.innerText.includes('exit 3')))
    await page.getByLabel('Search the conversation').fill('NEEDLE')
    await page.keyboard.press('Enter')
    await page.getByText('2 found').waitFor() // in the prompt, and said
    await page.getByRole('link', { name: 'Back to the newest' }).click()
    await seen('third')
    const newest = page.getByRole('button', { name: 'Newest' })
    assert.equal(await newest.isVisible(), false)
    await scroller.evaluate(e => { e.scrollTop = -400 })
    await newest.click()
    await seen('third')
    await newest.waitFor({ state: 'hidden' })
    const plain = await desk.window(one.path, { javaScriptEnabled: false })
    await plain.locator('#log').getByText('third', { exact: true }).last().waitFor()
    assert.ok(await plain.locator('#log').getByText('third', { exact: true }).last().evaluate(el => el.getBoundingClientRect().bottom <= document.getElementById('scroller').getBoundingClientRect().bottom + 5), 'without the script the newest is not in sight')
    clean(page)
  },
})
