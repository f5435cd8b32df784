// The stories of an inbox with many questions, and of answers that take one press.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, work } from './board.mjs'
import { accessible, sleep, until } from './desk.mjs'

const clean = page => assert.deepEqual(page.errors, [])
const phone = { viewport: { width: 380, height: 800 } }
const one = r => Object.values(r.answers)[0]?.value?.value

// asked puts a question from a folder, which is its place in the list.
const asked = (desk, place, ...args) => {
  mkdirSync(join(desk.dir, place), { recursive: true })
  return execFileSync(process.env.BINARY, ['ask', '--detach', ...args], { cwd: join(desk.dir, place), env: { ...desk.env, DESKHAND_INBOX: 'off' } }).toString().trim()
}

export const stories = {
  async 'defect B14: a group is folded, and questions that are alike are answered at once'(desk) {
    const ids = {}
    for (const place of ['shop', 'blog']) for (let i = 1; i <= 3; i++) ids[place + i] = asked(desk, place, `Step ${i} of the ${place}?`, '--confirm')
    ids.colour = asked(desk, 'blog', 'Which colour?', '-o', 'teal', '-o', 'red'), ids.name = asked(desk, 'blog', 'Which name?')
    const page = await desk.window()
    const group = name => page.locator('details.group').filter({ has: page.getByRole('heading', { name }) })
    await group('blog').locator('summary').click()
    await group('blog').locator('summary', { hasText: '5' }).waitFor()
    asked(desk, 'blog', 'One more?', '--confirm')
    await group('blog').locator('summary', { hasText: '6' }).waitFor() // it stays folded while it grows
    assert.equal(await group('blog').locator('li').first().isVisible(), false)
    await accessible(page, 'an inbox with a folded group')
    await page.reload()
    assert.deepEqual([await group('blog').getAttribute('open'), await group('shop').getAttribute('open')], [null, ''])
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await until('the keys go through what is open', async () => /Step \d of the shop/.test(await page.locator('#list [aria-current] .heading').innerText()))

    await page.getByRole('link', { name: 'Answer several at once' }).click()
    const yes = page.locator('form.sheet', { has: page.getByRole('button', { name: 'Yes' }) })
    assert.equal(await yes.locator('li').count(), 7)
    assert.equal(await yes.getByRole('checkbox', { checked: true }).count(), 0) // nothing is chosen for the person
    await yes.getByRole('button', { name: 'Yes' }).click()
    await page.getByRole('alert').getByText('No question is selected').waitFor()
    for (const n of [1, 2, 3]) await page.getByLabel(`Step ${n} of the shop?`).check()
    await accessible(page, 'several questions')
    await page.getByRole('button', { name: 'Yes' }).click() // what follows has 10 seconds
    await page.getByText('3 questions: “Yes”').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('3 questions can be answered again').waitFor()
    assert.equal((await desk.request(ids.shop1)).status, 'open')
    const teal = page.locator('form.sheet', { has: page.getByRole('button', { name: 'teal' }) })
    await teal.getByLabel('Which colour?').check()
    await teal.getByLabel('Note for the agents').fill('as before')
    await teal.getByRole('button', { name: 'teal' }).click()
    await page.getByText('1 question: “teal”').waitFor()
    await accessible(page, 'several answers that can be taken back')

    // The questions of a place, without JavaScript, on a phone; one is answered elsewhere meanwhile.
    const plain = await desk.window('/?place=shop', { javaScriptEnabled: false, ...phone })
    await plain.getByRole('link', { name: 'Answer several at once' }).click()
    assert.equal(await plain.locator('form.sheet li').count(), 3)
    for (const n of [1, 2]) await plain.getByLabel(`Step ${n} of the shop?`).check()
    await desk.run('ask', 'answer', ids.shop1, '#1=yes')
    await plain.getByRole('button', { name: 'No', exact: true }).click()
    await plain.getByText('1 question: “No”').waitFor()
    await plain.getByRole('alert').getByText('Step 1 of the shop?').waitFor()
    assert.ok(await plain.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    await page.goto(desk.base + '/inbox/together?kind=text')
    await page.getByLabel('Which name?').check()
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByText('1 question: declined').waitFor()
    const ended = async id => await until('it has ended', async () => { const r = await desk.request(id); return r.status === 'completed' && r })
    assert.deepEqual([one(await ended(ids.shop2)), (await ended(ids.name)).completion.outcome], [false, 'decline'])
    const colour = await ended(ids.colour)
    assert.deepEqual([colour.completion.note, colour.completion.channel], ['as before', 'web'])
    assert.equal(one(await ended(ids.shop1)), true)
    clean(page)
  },

  async 'one touch: yes, undone, then no, with the tab closed and the server killed'(desk) {
    const id = await desk.ask('Deploy?', '--confirm')
    const asker = desk.start(['ask', 'wait', id, '--output', 'json'])
    const page = await desk.window('/inbox/' + id)
    await accessible(page, 'a question of one touch')
    const other = await desk.window('/inbox/' + id)
    await page.getByRole('button', { name: 'Yes' }).click() // what follows has 10 seconds
    await page.getByText('Your answer is “Yes”').waitFor()
    await other.getByText('Your answer is “Yes”').waitFor()
    await sleep(1500)
    assert.equal((await desk.request(id)).status, 'open') // and nothing for the asker
    await page.getByRole('button', { name: 'Undo' }).click()
    for (const w of [page, other]) await w.getByRole('button', { name: 'No', exact: true }).waitFor()
    await page.getByText('Add a note').click()
    await page.getByLabel('Sent to the agent').fill('not on Fridays')
    await page.getByRole('button', { name: 'No', exact: true }).click()
    await page.getByText('Your answer is “No”').waitFor()
    clean(page)
    await page.close(), await other.close()
    desk.server.kill('SIGKILL'), asker.kill('SIGKILL')
    await sleep(500)
    assert.equal((await desk.request(id)).status, 'open')
    desk.server = desk.peer()
    await desk.up()
    const r = await until('it is answered', async () => { const r = await desk.request(id); return r.status === 'completed' && r })
    assert.deepEqual([one(r), r.completion.note, r.completion.channel], [false, 'not on Fridays', 'web'])
    assert.ok(Date.parse(r.completion.at) - Date.parse(r.createdAt) > 10000)
    const looked = await desk.window('/inbox/' + await desk.ask('Look?', '--confirm'))
    await looked.getByRole('button', { name: 'Yes' }).click()
    await looked.getByText('Your answer is “Yes”').waitFor()
    await accessible(looked, 'an answer that can be taken back')
  },

  async 'one touch: a permission in its attempt, undone, and without JavaScript'(desk) {
    await work(desk)
    const first = await attempt(desk, 'Clean up', 'permit rm -rf web/old-theme', 'say On I go.')
    const page = await desk.window(first.path)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Your answer is “Allow”').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Reject' }).waitFor()
    await accessible(page, 'a permission of one touch')
    const plain = await desk.window(first.path, { javaScriptEnabled: false, ...phone })
    await plain.getByRole('button', { name: 'Reject' }).click()
    await plain.getByText('Your answer is “Reject”').waitFor()
    assert.ok(await plain.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    await page.getByText('Your answer is “Reject”').waitFor() // in the other window too
    await page.getByText('not permitted: rm -rf web/old-theme').waitFor()
    clean(page)
  },

  async 'scale: many questions are dense, searched and filtered'(desk) {
    for (const place of ['shop', 'blog', 'docs']) for (let i = 1; i <= 8; i++) asked(desk, place, `Step ${i} of the ${place}?`, '--confirm')
    asked(desk, 'blog', 'Which colour of the header?', '-o', 'teal', '-o', 'red')
    const page = await desk.window()
    const cards = () => page.locator('#list .heading').allInnerTexts()
    const seen = await page.evaluate(() => [...document.querySelectorAll('#list li')].filter(li => li.getBoundingClientRect().bottom <= innerHeight).length)
    assert.ok(seen >= 13, `${seen} of 25 questions fit`)
    await accessible(page, 'a long inbox')
    await page.keyboard.press('f')
    await page.keyboard.type('header COLOUR')
    await until('one is found', async () => (await cards()).join() === 'Which colour of the header?')
    await page.getByText('1 of 25 found').waitFor()
    assert.match(await page.title(), /^\(25\)/)
    await page.getByRole('link', { name: 'Show all' }).click()
    await until('all are there', async () => (await cards()).length === 25)
    await page.getByText('Filter', { exact: true }).click()
    await page.getByLabel('Project or folder').selectOption('docs')
    await until('those of one place', async () => (await cards()).length === 8)
    asked(desk, 'shop', 'Something else?')
    asked(desk, 'docs', 'Step 9 of the docs?', '--confirm', '--priority', 'urgent')
    await until('the new one that fits', async () => { const all = await cards(); return all.length === 9 && all[0] === 'Step 9 of the docs?' })
    await accessible(page, 'a filtered inbox')
    await page.reload()
    await until('the address has the filter', async () => (await cards()).length === 9)
    const plain = await desk.window('/', { javaScriptEnabled: false, ...phone })
    await plain.getByRole('searchbox').fill('step 3')
    await plain.getByRole('button', { name: 'Show' }).click()
    await plain.getByText('3 of 27 found').waitFor()
    assert.equal(await plain.locator('#list li').count(), 3)
    clean(page)
  },

  async 'scale: the button to send stays in sight'(desk) {
    const options = Array.from({ length: 30 }, (_, i) => ['-o', `Option ${i + 1}`]).flat()
    const id = await desk.ask('Which of thirty?', ...options)
    for (const options of [{}, phone]) {
      const page = await desk.window('/inbox/' + id, options)
      const box = await page.getByRole('button', { name: 'Send answer' }).boundingBox()
      assert.ok(box.y + box.height <= page.viewportSize().height, `Send is at ${box.y}`)
      await accessible(page, 'thirty options, ' + (options.viewport ? 'on a phone' : 'wide'))
      await page.getByLabel('Option 30').focus()
      const last = await page.getByLabel('Option 30').boundingBox()
      assert.ok(last.y + last.height <= (await page.getByRole('button', { name: 'Send answer' }).boundingBox()).y, 'the focused option is behind the button')
      clean(page)
    }
  },
}
