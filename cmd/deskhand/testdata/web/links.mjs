// The stories of what can be copied: links to a line of a change, of a conversation and of
// a log, and the names that people need elsewhere.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { attempt, work } from './board.mjs'
import { accessible, until } from './desk.mjs'

const clean = page => assert.deepEqual(page.errors, [])
const phone = { viewport: { width: 380, height: 800 } }
const completed = page => page.locator('#standing').getByText('completed').waitFor()
const copies = async page => { await page.context().grantPermissions(['clipboard-read', 'clipboard-write']); return () => page.evaluate(() => navigator.clipboard.readText()) }
// sighted waits until an element is in the window.
const sighted = (what, place) => until(what + ' is in sight', () => place.evaluate(e => { const r = e.getBoundingClientRect(); return r.height > 0 && r.top >= 0 && r.bottom <= innerHeight }))
const file = Array.from({ length: 400 }, (_, i) => `line ${i + 1}`)

export const stories = {
  async 'defect B1: a link leads to a line of a change, and follows it'(desk) {
    await work(desk, { 'long.txt': file.join('\n') + '\n' })
    const one = await attempt(desk, 'Change it', "run sed -i 's/^line 300$/line three hundred/' long.txt", 'say Done.')
    const page = await desk.window(one.path)
    await completed(page)
    await page.reload()
    const copied = await copies(page)
    await page.locator('tr.add td.n[data-at=n300]').click()
    await page.getByRole('link', { name: 'Link to the line' }).click()
    await page.waitForURL(/line=n300/)
    const row = page.locator('tr.here')
    assert.match(await row.innerText(), /line three hundred/)
    await sighted('the line', row)
    await page.getByRole('button', { name: 'Copy the link' }).click()
    await page.getByText('Copied').first().waitFor()
    const link = await copied()
    assert.match(link, /\/file\?.*line=n300.*#line$/)
    await accessible(page, 'a line of a change')

    // A line far from the changes, with no script, on a phone.
    const plain = await desk.window(one.path, { javaScriptEnabled: false, ...phone })
    await plain.getByLabel('Comment on line', { exact: true }).fill('10-12')
    await plain.getByRole('button', { name: 'Link to the line' }).click()
    await plain.waitForURL(/line=n10-12/)
    assert.equal(await plain.locator('tr.here').count(), 3)
    await sighted('the first line', plain.locator('tr.here').first())
    await plain.getByRole('link', { name: 'lines 10 to 12' }).waitFor()
    assert.equal(await plain.getByRole('button', { name: 'Copy' }).count(), 0)
    assert.ok(await plain.evaluate(() => document.documentElement.scrollWidth <= innerWidth))

    // The line moves, then it is gone.
    const next = async prompt => {
      await page.goto(desk.base + one.path)
      await page.getByLabel('Message to the agent').fill(prompt)
      await page.getByRole('button', { name: 'Send' }).click()
      await until('its run has ended', async () => await page.locator('#log .run').count() > 1 && JSON.parse(await desk.run('tasks', 'ls', '--json')).tasks.every(t => !t.has_in_progress_attempt))
      await page.goto(link)
    }
    await next("run sed -i '1i new' long.txt")
    assert.match(await row.innerText(), /301\s+line three hundred/)
    await next("run sed -i '/three hundred/d' long.txt")
    await page.getByText('since this link was made').waitFor()
    clean(page), clean(plain)
  },

  async 'defect B1: a link leads to an entry of a conversation and of a log, however old'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Talk', 'say A needle.', 'spam 600', 'say The end.')
    const page = await desk.window(one.path)
    await completed(page)
    await page.goto(desk.base + one.path + '?q=needle')
    const copied = await copies(page)
    const entry = page.locator('#log > li.said', { hasText: 'A needle.' })
    await entry.hover()
    await entry.getByRole('link', { name: 'Link to this entry' }).click()
    await until('it is copied', async () => /entry=/.test(await copied()))
    const link = await copied()
    assert.equal(page.url(), link)
    for (const options of [{}, { javaScriptEnabled: false, ...phone }]) {
      const there = await desk.window(link.slice(desk.base.length), options)
      await there.locator('#log > li:target', { hasText: 'A needle.' }).waitFor()
      assert.ok(await there.locator('#log > li').count() > 50) // with what was said around it
      await there.getByRole('link', { name: 'Back to the newest' }).waitFor()
      if (!options.viewport) await accessible(there, 'an entry of a conversation')
      clean(there)
    }
    // An entry of the newest part keeps the page live; one that is gone is said to be so.
    await page.goto(desk.base + one.path)
    const end = page.locator('#log > li.said', { hasText: 'The end.' })
    await end.hover()
    await end.getByRole('link', { name: 'Link to this entry' }).click()
    await until('another link is copied', async () => await copied() !== link)
    await page.goto(await copied())
    await page.getByLabel('Message to the agent').fill('say And more.')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('#log').getByText('And more.', { exact: true }).last().waitFor()
    await page.goto(desk.base + one.path + '?entry=e-000000000000-3')
    await page.getByText('The entry of this link is no longer there.').waitFor()
    // The raw log.
    await page.goto(desk.base + one.path + '?channel=raw')
    const line = page.locator('#log > li').last()
    await line.hover()
    await line.getByRole('link', { name: 'Link to this entry' }).click()
    await until('its link is copied', async () => /channel=raw/.test(await copied()))
    const text = await line.locator('pre').innerText()
    await page.goto(await copied())
    assert.equal(await page.locator('#log > li:target pre').innerText(), text)
    clean(page)
  },

  async 'defect C9, C10: marks, and what can be copied'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Talk', 'say Hm.', 'write prices.txt tea 1.00', 'say Done.')
    const page = await desk.window(one.path)
    await completed(page)
    await page.reload()
    const copied = await copies(page)
    const press = async (name, want) => {
      await page.getByRole('button', { name, exact: true }).first().click()
      await until('it is copied', async () => { const got = await copied(); return want instanceof RegExp ? want.test(got) : got === want })
    }
    await press('Copy the branch', /^deskhand\/[0-9a-z]+-talk$/)
    const branch = await copied()
    assert.match(await desk.run('tasks', 'show', one.id), new RegExp(branch))
    await press('Copy the ID', one.id)
    await press('Copy path', 'shop/prices.txt')
    await press('Copy the command', /^cd '/)
    await page.goto(desk.base + one.task)
    await press('Copy the ID', one.task.split('/').pop())
    await press('Copy the branch', branch)
    await accessible(page, 'a task whose names can be copied')
    const id = await desk.ask('Run this?\n\n```sh\nmake all\n```')
    await page.goto(desk.base + '/inbox/' + id)
    await press('Copy', /^make all\n?$/)
    await page.getByText('Where this comes from').click()
    await press('Copy the ID', id)
    await accessible(page, 'a question with code')
    await page.goto(desk.base + '/manual/guides/plan-on-the-board')
    await page.locator('pre').first().waitFor()
    await press('Copy', await page.locator('pre').first().textContent())

    // Marks: what runs, asks and failed differs in more than its colour.
    const mark = chip => chip.evaluate(e => getComputedStyle(e, '::before').content)
    await attempt(desk, 'Ask', 'ask Which?')
    await attempt(desk, 'Fail', 'fail Broken.')
    await attempt(desk, 'Run', 'sleep 60')
    await page.goto(desk.base + '/work')
    const marks = {}
    for (const [title, word] of [['Ask', 'waiting for you'], ['Fail', 'failed'], ['Run', 'running']]) {
      const chip = page.locator('.card', { hasText: title }).locator('.chip', { hasText: word })
      await chip.waitFor()
      marks[await mark(chip)] = title
    }
    assert.equal(Object.keys(marks).length, 3, JSON.stringify(marks))
    await accessible(page, 'a board with marks')
    clean(page)
  },
}
