// The stories of the pages of the work: the board, a task, and an attempt whose
// agent asks a person.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessible, freePort, until } from './desk.mjs'

const phone = { viewport: { width: 380, height: 800 } }

// work makes the desk serve tasks and questions over HTTP, with a project whose
// repository is small.
export async function work(desk, files = {}) {
  const repo = join(desk.dir, 'shop')
  mkdirSync(repo)
  writeFileSync(join(repo, 'prices.txt'), 'tea 1.20\ncoffee 2.50\nwater 0.80\n')
  writeFileSync(join(repo, 'README.md'), '# Shop\n')
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(repo, name, '..'), { recursive: true })
    writeFileSync(join(repo, name), content)
  }
  const git = (...args) => execFileSync('git', ['-C', repo, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args])
  git('init', '-q', '-b', 'main'), git('add', '.'), git('commit', '-qm', 'begin')
  await desk.run('tasks', 'project', 'add', repo, '--name', 'shop')
  desk.endings.push(async () => { // a runner outlives whatever started it
    for (const { task_id: id } of JSON.parse(await desk.run('tasks', 'ls', '--json')).tasks) await desk.run('tasks', 'stop', id, '--force').catch(() => {})
  })
  const port = await freePort()
  desk.servedAt(port)
  desk.webArgs = ['serve', '--tools', 'work,ask', '--http', '127.0.0.1:' + port]
  desk.web = desk.start(desk.webArgs)
  await desk.up()
}

// attempt starts one of a new task with a script for the executor fake.
export async function attempt(desk, title, ...script) {
  const task = JSON.parse(await desk.run('tasks', 'add', title, '--project', 'shop', '--json')).task_id
  const started = JSON.parse(await desk.run('tasks', 'start', task, '--executor', 'fake', '--prompt', script.join('\n'), '--json'))
  return { task: '/work/tasks/' + task, path: '/work/attempts/' + started.attempt_id, id: started.attempt_id }
}

const clean = page => assert.deepEqual(page.errors, [])
const fits = async (page, what) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than its window`)

export const stories = {
  async 'work: images in a message, and a dev server'(desk) {
    await work(desk)
    await desk.run('tasks', 'project', 'set', 'shop', '--dev-server', 'echo serving on $PORT; exec sleep 600')
    const { path, id } = await attempt(desk, 'Look', 'say Ready.')
    const page = await desk.window(path)
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    const box = page.getByLabel('Message to the agent')
    await box.fill('say I see')
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await box.evaluate((area, data) => { // as the clipboard gives it
      const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0)), files = new DataTransfer()
      files.items.add(new File([bytes], 'a.png', { type: 'image/png' }))
      area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: files, bubbles: true, cancelable: true }))
    }, png)
    await page.getByText('The image is attached.').waitFor()
    assert.match(await box.inputValue(), /^say I see\n!\[image\]\(image:[0-9a-f]{64}\.png\)\n$/)
    await page.locator('.attach input').setInputFiles({ name: 'b.png', mimeType: 'image/png', buffer: Buffer.from('<svg/>') })
    await page.getByText('The image was not stored.').waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const image = page.locator('.log .images img')
    await image.first().waitFor()
    await until('the image is shown', () => image.first().evaluate(i => i.naturalWidth === 1))
    await until('the agent has its file', async () => (await desk.run('tasks', 'logs', id)).includes('[image 1: '))
    await page.getByRole('button', { name: 'Start it' }).click()
    await page.getByRole('link', { name: /^http:\/\/localhost:\d+$/ }).waitFor()
    await accessible(page, 'an attempt with an image and a dev server')
    await page.getByRole('button', { name: 'Stop it' }).click()
    await page.getByText('stopped', { exact: true }).waitFor()
    clean(page)
  },
  async 'work: a task from the board to its end'(desk) {
    await work(desk)
    const page = await desk.window('/work')
    await page.locator('summary', { hasText: 'New task' }).click()
    await page.getByLabel('What to do').fill('Round the **prices**')
    await page.getByLabel('Details for the agent').fill('say I look first.\nsleep 0.5\nask Up or down?\nwrite prices.txt tea 1.00\nask And from when?\nsay Done, with thanks.')
    await page.getByRole('button', { name: 'Add task' }).click()
    await page.getByRole('heading', { name: 'No attempt yet' }).waitFor()
    await page.getByLabel('Agent', { exact: true }).selectOption('fake')
    await page.getByRole('button', { name: 'Start' }).click()
    const answer = page.getByRole('textbox', { name: 'Up or down?' })
    await answer.waitFor() // the page was there before the question
    await page.getByText('waiting for you').waitFor()
    await page.getByText('I look first.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await page.getByText("cd '").waitFor()
    await accessible(page, 'an attempt whose agent asks')
    await page.emulateMedia({ forcedColors: 'none' })

    const attempt = new URL(page.url()).pathname
    const id = await page.locator('#pane').getAttribute('data-id')
    const inbox = await desk.window('/inbox/' + id)
    await answer.pressSequentially('to the nea')
    const there = inbox.getByRole('textbox', { name: 'Up or down?' })
    await until('the inbox has the draft', async () => await there.inputValue() === 'to the nea')
    await there.fill('to the nearest')
    await until('the attempt has the draft', async () => await answer.inputValue() === 'to the nearest')
    await inbox.getByText('Where this comes from').click()
    assert.equal(await inbox.locator('.context a').getAttribute('href'), attempt)
    await answer.press('Control+Enter')
    const sent = await until('it is answered', async () => { const r = await desk.request(id); return r.status === 'completed' && r })
    assert.equal(Object.values(sent.answers)[0].value.value, 'to the nearest')

    const second = page.getByRole('textbox', { name: 'And from when?' })
    await second.waitFor() // it takes the place of the first
    await page.locator('tr.add').getByText('tea 1.00').waitFor() // the changes are counted again
    const board = await desk.window('/work')
    await board.locator('.board').getByText('waiting for you').waitFor()
    await accessible(board, 'the board')
    await board.getByRole('link', { name: 'Round the prices' }).click()
    await board.getByRole('link', { name: 'Answer' }).waitFor()
    await accessible(board, 'a task')
    await second.fill('Monday')
    await page.getByRole('button', { name: 'Send answer' }).click()
    await page.locator('#standing').getByText('completed').waitFor()
    await page.getByText('Done, with thanks.', { exact: true }).waitFor()
    await page.locator('tr.del').getByText('coffee 2.50').waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await accessible(page, 'an attempt that has ended')
    await board.getByText('completed').waitFor()
    clean(page), clean(inbox), clean(board)
  },

  async 'work: answered without JavaScript, on a phone'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Round the prices', 'run cat prices.txt', 'ask Up or down?', 'write prices.txt tea 1.00', 'say Thanks.')
    const page = await desk.window(one.path, { javaScriptEnabled: false, ...phone })
    const field = page.getByRole('textbox', { name: 'Up or down?' })
    await until('the question', async () => { await page.reload(); return await field.count() })
    await field.fill('up, I thi')
    await page.getByRole('button', { name: 'Save draft' }).click()
    await page.waitForURL(desk.base + one.path)
    assert.equal(await field.inputValue(), 'up, I thi')
    const lit = await desk.window(one.path, phone)
    await fits(lit, 'an attempt on a phone')
    await accessible(lit, 'an attempt on a phone')
    await field.fill('')
    await page.getByRole('button', { name: 'Send answer' }).click()
    await page.getByText('An answer is required').first().waitFor() // on the page of the question
    await field.fill('up')
    await page.getByRole('button', { name: 'Send answer' }).click()
    await page.waitForURL(desk.base + one.path)
    await until('the end', async () => { await page.reload(); return await page.locator('tr.add').getByText('tea 1.00').count() && await page.getByText('completed').count() })
    for (const path of ['/work', one.task]) {
      await lit.goto(desk.base + path)
      await fits(lit, path)
    }
    clean(lit)
  },

  async 'work: somebody else answers first'(desk) {
    await work(desk)
    const seen = join(desk.dir, 'seen') // the next question takes the place of the ended one
    const one = await attempt(desk, 'Round the prices', 'ask Up or down?', `run until test -e '${seen}'; do sleep 0.1; done`, 'ask Which day?')
    const page = await desk.window(one.path)
    const id = await until('the question', () => page.locator('#pane').getAttribute('data-id', { timeout: 200 }))
    await page.getByRole('textbox', { name: 'Up or down?' }).fill('mine')
    await desk.run('ask', 'answer', id, '#1=theirs')
    await page.getByText('answered on the command line').waitFor()
    await page.getByText('mine').waitFor()
    writeFileSync(seen, '')
    await page.getByRole('textbox', { name: 'Which day?' }).waitFor()
    await page.getByRole('button', { name: 'Force stop' }).click()
    await page.getByText('stopped').waitFor()
    clean(page)
  },
}
