// The stories of the board as a plan: projects made in the page, priorities, labels,
// tasks that block others, drag, keys, filters, and what every page's bar has.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, work } from './board.mjs'
import { accessible, until } from './desk.mjs'

const clean = page => assert.deepEqual(page.errors, [])
const phone = { viewport: { width: 380, height: 800 } }
const add = async (desk, title, project = 'shop') => JSON.parse(await desk.run('tasks', 'add', title, '--project', project, '--json')).task_id
const column = (page, name) => page.locator('.column').filter({ has: page.getByRole('heading', { name: new RegExp('^' + name) }) })

export const stories = {
  async 'plan: a task is dragged, moved by keys, planned, found and deleted'(desk) {
    await work(desk)
    const [first, second] = [await add(desk, 'Paint the door'), await add(desk, 'Fix the roof')]
    const page = await desk.window('/work')
    const todo = column(page, 'To do')
    await page.locator(`[data-id="${first}"]`).dragTo(column(page, 'In review'))
    await column(page, 'In review').getByText('Paint the door').waitFor()
    await page.getByRole('link', { name: 'Fix the roof' }).focus()
    await page.keyboard.press('Shift+ArrowRight')
    await column(page, 'In progress').getByText('Fix the roof').waitFor()
    await page.keyboard.press('ArrowRight')
    await until('the next card has the focus', () => page.evaluate(() => document.activeElement.textContent === 'Paint the door'))
    for (const n of [1, 2]) {
      await page.keyboard.press('Shift+ArrowLeft')
      await column(page, ['', 'In progress', 'To do'][n]).getByText('Paint the door').waitFor()
    }
    const status = async id => JSON.parse(await desk.run('tasks', 'ls', '--json')).tasks.find(t => t.task_id === id).status
    assert.deepEqual([await status(first), await status(second)], ['todo', 'inprogress'])

    await page.getByRole('link', { name: 'Paint the door' }).press('Enter')
    await page.getByText('Plan', { exact: true }).click()
    await page.getByLabel('Priority').selectOption('Urgent')
    await page.getByLabel('Labels').fill('outside, paint')
    await page.getByLabel('Blocked by').selectOption('Fix the roof')
    await page.getByRole('button', { name: 'Save plan' }).click()
    await page.locator('p.row').getByText('blocked by Fix the roof').waitFor()
    await accessible(page, 'a planned task')
    await page.goto(desk.base + '/work/tasks/' + second)
    await page.getByText('Plan', { exact: true }).click()
    await page.getByLabel('Blocked by').selectOption('Paint the door')
    await page.getByRole('button', { name: 'Save plan' }).click()
    await page.getByRole('alert').getByText('The tasks would block each other').waitFor()
    assert.equal(await page.getByLabel('Blocked by').locator('option:checked').innerText(), 'Paint the door') // it stays to be changed

    await add(desk, 'Order nails')
    await page.goto(desk.base + '/work')
    await todo.locator('.card').nth(1).waitFor()
    assert.match(await todo.locator('.card').first().innerText(), /Paint the door[^]*urgent[^]*blocked by 1[^]*outside/)
    await accessible(page, 'a planned board')
    await page.getByLabel('ready (1)').check()
    await until('only what can begin', async () => (await page.locator('.card a').allInnerTexts()).join() === 'Order nails')
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByLabel('any label').selectOption('paint')
    await until('only that label', async () => (await page.locator('.card a').allInnerTexts()).join() === 'Paint the door')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to' }).fill('roof')
    await page.getByRole('option', { name: 'Fix the roof' }).waitFor()
    await accessible(page, 'the menu to go to')
    await page.keyboard.press('Enter')
    await page.waitForURL(desk.base + '/work/tasks/' + second)
    await page.getByText('Delete', { exact: true }).click()
    await page.getByRole('button', { name: 'Delete this task' }).click()
    await column(page, 'To do').getByText('Paint the door').waitFor()
    assert.equal(await page.getByText('Fix the roof').count(), 0)
    assert.equal(await page.getByText('blocked by').count(), 0) // what is gone blocks nothing
    clean(page)
  },

  async 'defect B10: a card tells of its attempts and its question, and what is done can be hidden'(desk) {
    await work(desk)
    const long = 'Paint ' + 'the door and '.repeat(30)
    const asks = await attempt(desk, 'Choose', 'say once')
    const task = asks.task.split('/').pop()
    await until('it has ended', async () => !JSON.parse(await desk.run('tasks', 'ls', '--json')).tasks[0].has_in_progress_attempt)
    await desk.run('tasks', 'start', task, '--executor', 'fake', '--prompt', 'ask Red or green?')
    await add(desk, long), await desk.run('tasks', 'set', await add(desk, 'Old'), '--status', 'done')
    const page = await desk.window('/work')
    const card = page.locator('.card', { hasText: 'Choose' })
    await card.getByText('Red or green?').waitFor()
    await card.getByText('2 attempts').waitFor()
    const title = page.locator('.card', { hasText: 'Paint' }).locator('a')
    assert.ok(await title.evaluate(e => e.getBoundingClientRect().height) < 110, 'a long title fills the column')
    await page.getByLabel('open only').check()
    await page.waitForURL(/open=1/)
    assert.equal(await page.locator('.column').count(), 3)
    assert.equal(await page.getByText('Old').count(), 0)
    await accessible(page, 'a board of what is open')
    const small = await desk.window('/work?open=1', { javaScriptEnabled: false, ...phone })
    assert.ok(await small.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    await small.getByRole('link', { name: 'Show all' }).click()
    await small.getByText('Old').waitFor()
    clean(page)
  },

  async 'plan: a project is made and its scripts are set in the page, without JavaScript'(desk) {
    await work(desk)
    const blog = join(desk.dir, 'blog')
    mkdirSync(blog)
    writeFileSync(join(blog, 'a.md'), 'a\n')
    for (const args of [['init', '-q', '-b', 'main'], ['add', '.'], ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'begin']]) execFileSync('git', ['-C', blog, ...args])
    const page = await desk.window('/work/projects', { javaScriptEnabled: false, ...phone })
    await page.getByLabel('Name of the project').fill('blog')
    await page.getByLabel('Path of a git repository').fill('/nowhere/at/all')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Name of the project').inputValue(), 'blog')
    await page.getByLabel('Path of a git repository').fill(blog)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('link', { name: 'blog' }).waitFor()
    await page.locator('summary').filter({ hasText: blog }).click()
    await page.getByLabel('Setup script').first().fill('npm ci')
    await page.getByLabel('Branch that attempts').first().fill('nowhere')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Setup script').first().inputValue(), 'npm ci')
    await page.getByLabel('Branch that attempts').first().fill('main')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.waitForURL(desk.base + '/work/projects')
    await page.locator('summary').filter({ hasText: blog }).click()
    assert.equal(await page.getByLabel('Setup script').first().inputValue(), 'npm ci')
    await add(desk, 'Write', 'blog'), await add(desk, 'Paint')
    await page.goto(desk.base + '/work?project=all')
    for (const words of ['Write', 'Paint', 'blog', 'shop']) await page.locator('.board').getByText(words, { exact: true }).waitFor()
    const lit = await desk.window('/work/projects')
    await accessible(lit, 'the projects')
    await lit.goto(desk.base + '/work?project=all')
    await accessible(lit, 'the board of all projects')
    clean(lit)
  },

  async 'plan: a template, and a file named by @'(desk) {
    await work(desk, { 'web/header.css': 'a {}\n' })
    const plain = await desk.window('/work', { javaScriptEnabled: false, ...phone })
    await plain.getByText('New task').click()
    await plain.getByLabel('What to do').fill('Release')
    await plain.getByLabel('Details for the agent').fill('Bump the version.')
    await plain.getByRole('button', { name: 'Save as a template' }).click()
    await plain.getByRole('link', { name: 'Release' }).click()
    assert.deepEqual([await plain.getByLabel('What to do').inputValue(), await plain.getByLabel('Details for the agent').inputValue()], ['Release', 'Bump the version.'])
    const page = await desk.window('/work?new=1')
    await page.getByRole('link', { name: 'Release' }).click()
    const text = page.getByLabel('Details for the agent')
    await text.press('Control+End')
    await text.pressSequentially(' Look at @head')
    await page.getByRole('option', { name: 'web/header.css' }).waitFor()
    await accessible(page, 'a file named by @')
    await text.press('Enter')
    assert.equal(await text.inputValue(), 'Bump the version. Look at @web/header.css ')
    await page.getByRole('button', { name: 'Add task' }).click()
    await page.getByRole('heading', { name: 'No attempt yet' }).waitFor()
    await page.goto(desk.base + '/work/projects')
    await page.getByText('1 template for tasks').click()
    await page.getByRole('button', { name: 'Remove the template Release' }).click()
    await until('it is gone', async () => await page.getByText('template for tasks').count() === 0)
    clean(page)
  },

  async 'plan: every page has the counts, and says when it is cut off'(desk) {
    await work(desk)
    const page = await desk.window('/work')
    await desk.ask('Which name?')
    await page.reload()
    await page.getByRole('link', { name: 'Inbox 1 open' }).waitFor()
    await desk.ask('Which other name?')
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await page.getByRole('link', { name: 'Inbox 2 open' }).waitFor()
    await page.context().setOffline(true)
    await page.evaluate(() => dispatchEvent(new Event('offline')))
    await page.getByText('The server cannot be reached').waitFor()
    await accessible(page, 'a board that is cut off')
    await page.context().setOffline(false)
    await page.getByText('The server cannot be reached').waitFor({ state: 'hidden' })
    const plain = await desk.window('/manual', { javaScriptEnabled: false })
    await plain.getByRole('link', { name: 'Inbox 2 open' }).waitFor()
    clean(page)
  },
}
