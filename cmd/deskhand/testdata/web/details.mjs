// The stories of the small things: what a designer saw, one by one. The names are
// those of the review's lists.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, work } from './board.mjs'
import { accessible, until } from './desk.mjs'
import { library } from './search.mjs'

const clean = page => assert.deepEqual(page.errors, [])
const phone = { viewport: { width: 390, height: 800 } }
const box = locator => locator.evaluate(e => { const r = e.getBoundingClientRect(); return { top: r.top, bottom: r.bottom, left: r.left, right: r.right, height: r.height } })
const completed = page => page.locator('#standing').getByText('completed').waitFor()

// gap is how many pixels lie between one element and the one below it.
const gap = async (above, below) => (await box(below)).top - (await box(above)).bottom

// lines is the number of lines that the text of an element takes.
const lines = locator => locator.evaluate(e => { const r = document.createRange(); r.selectNodeContents(e); return new Set([...r.getClientRects()].map(one => Math.round(one.bottom))).size })

export const stories = {
  async 'defect B5: choices of an attempt, and notes, have their room'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Look', `run '${process.env.BINARY}' ask --detach 'Which one?' -o Left -o 'Right: the way back'`, 'sleep 60')
    const page = await desk.window(one.path)
    const option = page.locator('.option', { hasText: 'Right' })
    await option.waitFor()
    assert.equal(await option.evaluate(e => getComputedStyle(e).display), 'flex')
    const [radio, words] = [await box(option.locator('input')), await box(option.locator('span').first())]
    assert.ok(words.left - radio.right >= 8, `the words begin ${words.left - radio.right} pixels after the box`)
    const failed = await attempt(desk, 'Fail', 'fail first line\\nsecond line')
    await page.goto(desk.base + failed.path)
    const note = page.locator('#standing .note.alarm')
    await note.waitFor()
    assert.ok(await gap(page.locator('#standing p.row'), note) >= 8, 'the note touches the row above it')
    clean(page)
  },

  async 'defect B5: the score of a hit stays in one line on a phone, and its page is named'(desk) {
    mkdirSync(join(desk.dir, 'docs'))
    writeFileSync(join(desk.dir, 'docs', 'long.md'), '# Resize the volume\n\n## Usage\n\nRun it.\n\n## Resizing_an_existing_volume_while_the_service_that_uses_it_is_running_elsewhere\n\nThe volume is resized.\n')
    await library(desk)
    const page = await desk.window('/search?q=resizing+a+running+volume', phone)
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      for (const part of ['.score', '.rank']) for (const one of await page.locator(part).all()) assert.equal(await lines(one), 1, `${part} at ${width} pixels`)
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    }
    await page.getByRole('link', { name: 'Resize the volume › Usage' }).click()
    const reading = page.locator('#reading')
    await reading.waitFor()
    await page.evaluate(() => scrollTo(0, 0)) // C1: what was chosen comes before the other hits
    assert.ok((await box(reading)).top < 400, 'the section opens far below')
    clean(page)
  },

  async 'defect B8: links between pages of the docs are followed'(desk) {
    mkdirSync(join(desk.dir, 'docs', 'guides'), { recursive: true })
    writeFileSync(join(desk.dir, 'docs', 'guides', 'links.md'), '# Links\n\nSee [the flags](../reference/flags.md), [below](#the-end) and [elsewhere](https://example.com/).\n\n> [!TIP]\n> Read it.\n\n## The end\n\nThat is all.\n')
    await library(desk)
    const page = await desk.window('/search?read=guides%2Flinks.md')
    const reading = page.locator('#reading')
    await reading.locator('blockquote.note.good', { hasText: 'Tip' }).waitFor()
    assert.equal(await reading.locator('.prose').getByRole('link', { name: 'elsewhere' }).count(), 0)
    await reading.locator('.prose').getByRole('link', { name: 'below' }).click()
    await page.locator('.part.target', { hasText: 'That is all.' }).waitFor()
    await page.goBack()
    await reading.locator('.prose').getByRole('link', { name: 'the flags' }).click()
    await reading.getByText('as it is').waitFor()
    clean(page)
  },

  async 'defect B5: a banner does not touch the question, and the bar is low on a phone'(desk) {
    const id = await desk.ask('Which name?')
    const page = await desk.window('/inbox/' + id, phone)
    assert.ok((await box(page.locator('.bar'))).height <= 90, `the bar takes ${(await box(page.locator('.bar'))).height} pixels`)
    await page.getByRole('textbox', { name: 'Which name?' }).fill('mine')
    await page.getByText('Draft saved').waitFor()
    await page.context().setOffline(true)
    await page.getByRole('textbox', { name: 'Which name?' }).fill('mine, offline')
    await page.locator('#offline').waitFor()
    assert.ok(await gap(page.locator('#offline'), page.locator('#pane')) >= 8, 'the banner touches the card')
    assert.equal(await page.getByText('Draft saved').count(), 0) // C6: it is not
    await page.getByRole('button', { name: 'Send answer' }).click()
    await page.getByText('Not sent').waitFor()
    await page.context().setOffline(false)
    await until('it is said no more', async () => await page.getByText('Not sent').count() === 0) // C6
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    clean(page)
  },

  async 'defect B5: an Arabic title begins on the right, everywhere'(desk) {
    await work(desk)
    const title = 'قرّب الأسعار'
    const one = await attempt(desk, title, 'say hello')
    await desk.ask(title, '-o', 'نعم', '-o', 'No')
    const page = await desk.window(one.path)
    await completed(page)
    const side = async what => assert.deepEqual(await what.evaluate(e => [getComputedStyle(e).direction, ['start', 'right'].includes(getComputedStyle(e).textAlign)]), ['rtl', true], `${page.url()}: not from the right`)
    await side(page.locator('h1'))
    await page.goto(desk.base + one.task)
    await side(page.locator('h1'))
    await page.goto(desk.base + '/work')
    await side(page.locator('.card a', { hasText: title }))
    await page.goto(desk.base + '/')
    await side(page.locator('#list .heading', { hasText: title }))
    clean(page)
  },

  async 'defect B8: tables, alerts, nested lists and tasks, wherever an agent writes'(desk) {
    await work(desk)
    const text = '| Option | Cost |\n|---|--:|\n| A | 10 |\n\n> [!WARNING]\n> This *deletes* data.\n\n- [x] done\n  - nested\n\nSee [the docs][d].\n\n```go\nfunc main() {}\n```\n\n[d]: https://example.com/x\n'
    const one = await attempt(desk, 'Look', `run printf '${text.replaceAll('\n', '\\n').replaceAll('%', '%%')}' > reply.md`, 'say Done.')
    writeFileSync(join(desk.dir, 'q.json'), JSON.stringify({ title: 'Move the database', message: text, questions: [{ id: 'q', question: 'Which one?', type: 'text' }] }))
    const task = JSON.parse(await desk.run('tasks', 'add', 'Written', '--project', 'shop', '--description', text, '--json')).task_id
    const page = await desk.window('/inbox/' + await desk.ask('--questions', join(desk.dir, 'q.json')), phone)
    for (const path of [undefined, '/work/tasks/' + task]) {
      if (path) await page.goto(desk.base + path)
      const prose = page.locator('.prose').first()
      assert.deepEqual(await prose.locator('td').allInnerTexts(), ['A', '10'])
      assert.equal(await prose.locator('td').last().evaluate(e => getComputedStyle(e).textAlign), 'end')
      const alert = prose.locator('blockquote.note.warn')
      assert.equal((await alert.innerText()).replace(/\s+/g, ' '), 'Warning This deletes data.')
      assert.equal(await alert.evaluate(e => getComputedStyle(e).whiteSpace), 'normal') // no empty line at its end
      assert.match((await prose.locator('li').first().innerText()), /^☑ done/)
      assert.equal(await prose.locator('li li').innerText(), 'nested')
      assert.equal(await prose.locator('pre i.k').innerText(), 'func')
      assert.equal(await prose.locator('a').count(), 0) // links of agents lead nowhere
      assert.doesNotMatch(await prose.innerText(), /\]\[|\[!|\|/)
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
      await accessible(page, 'Markdown of an agent' + (path ? ', of a task' : ''))
    }
    clean(page)
  },

  async 'defect B6, B13: a permission is code with its effect, and an end can be taken back'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Clean up', 'permit rm -rf web/old-theme && npm run build', 'say On I go.')
    const page = await desk.window(one.path)
    const code = page.locator('.proposal pre code')
    await code.waitFor()
    assert.deepEqual([await code.innerText(), await page.locator('.proposal .chip').innerText()], ['rm -rf web/old-theme && npm run build', 'deletes'])
    const id = await page.locator('#pane').getAttribute('data-id')
    for (const name of ['Decline', 'Cancel question']) {
      await page.getByRole('button', { name }).click()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('button', { name: 'Allow', exact: true }).waitFor()
    }
    assert.equal((await desk.request(id)).status, 'open')
    clean(page)
  },

  async 'defect B9: tabs say what they show'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Look', 'ask Which way?')
    const page = await desk.window(one.path)
    await until('it waits', async () => /^waiting for you: Look/.test(await page.title()))
    await page.getByLabel('Search the conversation').fill('which')
    await page.keyboard.press('Enter')
    await page.getByText(/^\d found$/).waitFor()
    assert.ok((await box(page.getByText(/^\d found$/))).bottom <= 850, 'what was found is out of sight')
    await page.getByRole('link', { name: 'Back to the newest' }).click()
    await page.getByRole('textbox', { name: 'Which way?' }).fill('left')
    await page.getByRole('button', { name: 'Send answer' }).click()
    await until('it has ended', async () => /^completed: Look/.test(await page.title()))
    await page.goto(desk.base + '/work')
    assert.match(await page.title(), /^shop/)
    await desk.ask('Which name?')
    await page.goto(desk.base + '/')
    assert.match(await page.title(), /^\(1\)/)
    clean(page)
  },

  async 'defect B15: a deadline that passes is said without a reload, whatever follows'(desk) {
    const [first] = [await desk.ask('Still wanted?', '--timeout', '3s'), await desk.ask('And this?', '--timeout', '1h')]
    const page = await desk.window('/inbox/' + first)
    await page.getByText('You can still answer').waitFor({ timeout: 10000 })
    await page.locator(`li[data-id="${first}"]`).getByText('overdue').waitFor({ timeout: 10000 })
    assert.equal(await page.getByText(/\b0 s left/).count(), 0)
    clean(page)
  },

  async 'defect C2, C3: plain words, and the agent that was used last'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Look', 'say hello')
    const fresh = JSON.parse(await desk.run('tasks', 'add', 'Look again', '--project', 'shop', '--json')).task_id
    const page = await desk.window(one.task)
    const agent = page.getByLabel('Agent', { exact: true })
    assert.equal(await agent.inputValue(), 'fake')
    const shown = [await page.locator('main').textContent()]
    await page.goto(desk.base + one.path)
    await page.getByLabel('raw').waitFor()
    shown.push(await page.locator('main').textContent())
    await page.goto(desk.base + '/inbox/' + await desk.ask('Which name?'))
    await page.getByText('Add a note').waitFor()
    shown.push(await page.locator('main').textContent())
    for (const words of ['as written', 'Add a word', 'Other words than', 'by force', 'Put mine back', 'free place']) assert.ok(!shown.join().includes(words), words)
    await page.goto(desk.base + '/work/tasks/' + fresh)
    assert.equal(await agent.inputValue(), 'fake')
    assert.ok((await box(agent)).right - (await box(agent)).left <= 400, 'the menu is as wide as the page')
    assert.ok((await agent.locator('option').allInnerTexts()).every(t => t.length < 40), 'an item of the menu tells why it is missing')
    await until('the attempt has ended and the task can go', async () => { await desk.run('tasks', 'rm', one.task.split('/').pop()); return true })
    await page.reload()
    const menu = await agent.locator('option').allInnerTexts()
    if (menu.join() === 'Choose an agent,fake') assert.equal(await agent.inputValue(), '') // nothing is installed, and no script is run by mistake
    await accessible(page, 'a task without an attempt')
    clean(page)
  },

  async 'defect C5: the list shows the open question, and keeps its place on a phone'(desk) {
    const ids = []
    for (let i = 1; i <= 40; i++) ids.push(await desk.ask(`Step ${i}?`))
    const page = await desk.window('/inbox/' + ids[39])
    const chosen = page.locator('#list [aria-current]')
    const inView = async () => { const [card, list] = [await box(chosen), await box(page.locator('#side'))]; return card.top >= list.top - 1 && card.bottom <= list.bottom + 1 }
    await until('the chosen card is in view', inView)
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys of this page' })
    await help.getByText('put aside').waitFor()
    await accessible(page, 'the keys of a page')
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'hidden' })
    assert.equal(new URL(page.url()).pathname, '/inbox/' + ids[39])
    clean(page)
    const small = await desk.window('/', phone)
    for (const back of [() => small.goBack(), () => small.getByRole('link', { name: 'All questions' }).click()]) {
      const card = small.locator(`li[data-id="${ids[30]}"] a`)
      await card.scrollIntoViewIfNeeded()
      await small.evaluate(() => scrollBy(0, 40))
      const at = await small.evaluate(() => scrollY)
      assert.ok(at > 500)
      await card.click()
      await small.getByRole('textbox', { name: 'Step 31?' }).waitFor()
      await back()
      await until('the list is where it was', async () => Math.abs(await small.evaluate(() => scrollY) - at) < 60 && await card.isVisible())
      assert.equal(new URL(small.url()).pathname, '/')
    }
    clean(small)
  },

  async 'defect C4: what a program without a log says before it fails is kept in lines'(desk) {
    desk.env.DESKHAND_CONFIG = join(desk.dir, 'deskhand.yaml')
    writeFileSync(desk.env.DESKHAND_CONFIG, `tasks:\n  executors:\n    broken: {kind: shell, command: [sh, -c, 'echo one >&2; echo two >&2; exit 3', '{{prompt}}']}\n`)
    await work(desk)
    const task = JSON.parse(await desk.run('tasks', 'add', 'Look', '--project', 'shop', '--json')).task_id
    const started = JSON.parse(await desk.run('tasks', 'start', task, '--executor', 'broken', '--json'))
    const page = await desk.window('/work/attempts/' + started.attempt_id)
    const note = page.locator('#standing .note.alarm')
    await note.waitFor()
    const said = await page.locator('main').innerText()
    assert.match(said, /one\n+\s*two/)
    await page.getByRole('link', { name: 'Start another attempt' }).or(page.getByRole('button', { name: 'Send', exact: true })).first().waitFor()
    clean(page)
  },

  async 'defect C6: the ring of a field does not cut its label'(desk) {
    const page = await desk.window('/inbox/' + await desk.ask('Which?', '-o', 'A', '-o', 'B'))
    assert.ok(await gap(page.locator('.own label'), page.getByLabel('In your own words')) >= 5, 'the ring is drawn over the label')
    clean(page)
  },

  async 'defect C6: what was answered is not said again as unsent'(desk) {
    const path = '/inbox/' + await desk.ask('Which name?')
    const [a, b] = [await desk.window(path), await desk.window(path)]
    const field = window => window.getByRole('textbox', { name: 'Which name?' })
    await field(b).fill('ours')
    await until('the other window has it', async () => await field(a).inputValue() === 'ours')
    await a.getByRole('button', { name: 'Send answer' }).click()
    await b.getByText('answered in the browser').waitFor()
    assert.equal(await b.getByText('Your unsent text').count(), 0)
    clean(a), clean(b)
  },

  async 'defect B14: thirty options are searched'(desk) {
    const id = await desk.ask('Which of thirty?', ...Array.from({ length: 30 }, (_, i) => ['-o', `Option ${i + 1}`]).flat())
    const page = await desk.window('/inbox/' + id, phone)
    const seen = async () => (await page.locator('.option:visible').allInnerTexts()).join()
    await page.getByLabel('Search the options').fill('option 23')
    await until('one is left', async () => await seen() === 'Option 23')
    await page.keyboard.press('Enter')
    assert.ok(await page.getByLabel('Option 23').isChecked())
    await page.getByLabel('Search the options').fill('30')
    await until('the other is left', async () => await seen() === 'Option 30')
    await page.getByLabel('Option 30').focus()
    await page.keyboard.press('1')
    assert.ok(await page.getByLabel('Option 30').isChecked())
    await accessible(page, 'options that are searched')
    const [send, more] = [await box(page.getByRole('button', { name: 'Send answer' })), await box(page.getByRole('button', { name: '10 more minutes' }))]
    assert.equal(send.top, more.top) // side by side
    await page.getByRole('button', { name: 'Send answer' }).click()
    await page.getByText('answered in the browser').waitFor()
    assert.equal(Object.values((await desk.request(id)).answers)[0].value.value, 'Option 30')
    clean(page)
  },

  async 'defect C10, C11: lines are copied without signs and numbers, and tabs are narrow'(desk) {
    await work(desk, { 'a.go': 'package a\n\nfunc f() {\n\treturn\n}\n' })
    const one = await attempt(desk, 'Look', `run sed -i 's/return/panic(1)/' a.go`)
    const page = await desk.window(one.path)
    await completed(page)
    await page.reload()
    const table = page.locator('table.diff').first()
    await table.waitFor()
    const copied = await table.evaluate(e => { getSelection().selectAllChildren(e); return getSelection().toString() })
    assert.ok(copied.includes('panic(1)') && !/^\s*[+−-]/m.test(copied), copied)
    await page.emulateMedia({ media: 'print' }) // C12
    assert.equal(await page.locator('.bar').isVisible(), false)
    assert.deepEqual(await table.evaluate(e => [getComputedStyle(e).tabSize, getComputedStyle(e.querySelector('.n')).userSelect]), ['4', 'none'])
    clean(page)
  },

  async 'defect B2: entries have their time, once a minute, where the browser is'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Talk', 'say one', 'say two', 'run true', 'say three')
    const page = await desk.window(one.path, { timezoneId: 'Asia/Kathmandu', locale: 'en-GB' })
    await completed(page)
    await page.locator('#log').getByText('three', { exact: true }).last().waitFor()
    const times = page.locator('#log .at time')
    assert.ok(await times.count() >= 4)
    const told = await times.evaluateAll(all => all.map(t => [t.dateTime, t.textContent, t.title, t.checkVisibility()]))
    for (const [at, clock, full] of told) {
      const there = new Date(Date.parse(at) + 345 * 60000).toISOString()
      assert.equal(clock, there.slice(11, 16))
      assert.ok(full.includes(there.slice(0, 4)), full)
    }
    const shown = told.filter(t => t[3]).map(t => t[1])
    assert.ok(shown.length >= 1 && shown.length === new Set(shown).size, `shown: ${shown}`) // no minute twice
    await page.getByLabel('Message to the agent').fill('say four')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('#log').getByText('four', { exact: true }).last().waitFor()
    await until('each run begins with its time', async () => await page.locator('#log .run + li .at time').evaluateAll(all => all.length === 2 && all.every(t => t.checkVisibility())))
    await accessible(page, 'times of a conversation')
    const plain = await desk.window(one.path, { javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
    assert.match(await plain.locator('#log .at:visible time').first().innerText(), /^\d\d:\d\d$/)
    clean(page)
  },

  async 'defect C7: keys of another script mean those of a Latin keyboard'(desk) {
    const ids = []
    for (let i = 1; i <= 3; i++) ids.push(await desk.ask(`Step ${i}?`))
    const page = await desk.window('/inbox/' + ids[0])
    const cdp = await page.context().newCDPSession(page)
    const press = async (key, code, modifiers = 0) => { for (const type of ['keyDown', 'keyUp']) await cdp.send('Input.dispatchKeyEvent', { type, key, code, modifiers, text: type === 'keyDown' && !modifiers ? key : undefined }) }
    await press('\u043e', 'KeyJ') // as on a Russian keyboard
    await page.waitForURL('**/inbox/' + ids[1])
    const own = page.getByRole('textbox', { name: 'Step 2?' })
    await press('/', 'Slash')
    await until('the field has the focus', () => own.evaluate(e => e === document.activeElement))
    await press('\u043e', 'KeyJ')
    assert.equal(await own.inputValue(), '\u043e') // it is typed
    await press('\u043b', 'KeyK', 2)
    await page.getByRole('dialog', { name: 'Go to' }).waitFor()
    clean(page)
  },
}
