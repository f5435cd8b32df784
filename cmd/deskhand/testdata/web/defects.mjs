// Stories of what was wrong once: a bill twice, a box that was missing, an answer
// that contradicts itself.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessible, freePort, until } from './desk.mjs'
import { attempt, work } from './board.mjs'

const clean = page => assert.deepEqual(page.errors, [])
const answersOf = async (desk, id) => Object.values((await desk.request(id)).answers)[0]?.value

export const stories = {
  async 'defect A1: Start pressed twice starts one attempt'(desk) {
    await work(desk)
    const task = JSON.parse(await desk.run('tasks', 'add', 'say hello', '--project', 'shop', '--json')).task_id
    const page = await desk.window('/work/tasks/' + task)
    await page.getByLabel('Agent', { exact: true }).selectOption('fake')
    await page.getByRole('button', { name: 'Start' }).dblclick()
    await page.waitForURL(/\/work\/attempts\//)
    const attempts = async () => await (async () => { await page.goto(desk.base + '/work/tasks/' + task); return page.locator('.side').count() })()
    assert.equal(await attempts(), 1)
    // The same without the script, and another prompt is another attempt.
    const plain = await desk.window('/work/tasks/' + task, { javaScriptEnabled: false })
    const form = await plain.locator('form:has(#agent)').evaluate(f => Object.fromEntries(new FormData(f)))
    const send = more => plain.request.post(desk.base + '/work/tasks/' + task, { form: { ...form, agent: 'fake', act: 'start', ...more }, headers: { Origin: desk.base } })
    await Promise.all([send({}), send({})])
    assert.equal(await attempts(), 2)
    await send({ prompt: 'say other' })
    assert.equal(await attempts(), 3)
    clean(page)
  },

  async 'defect A2: the agent can be spoken to from the first moment on'(desk) {
    await work(desk)
    const task = JSON.parse(await desk.run('tasks', 'add', 'ask Go on?', '--project', 'shop', '--json')).task_id
    const page = await desk.window('/work/tasks/' + task)
    await page.getByLabel('Agent', { exact: true }).selectOption('fake')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/\/work\/attempts\//)
    await page.getByLabel('Message to the agent').fill('say and this too', { timeout: 1500 })
    await page.getByRole('button', { name: 'Queue' }).click()
    await page.getByText('Queued:').waitFor()
    await page.getByRole('textbox', { name: 'Go on?' }).waitFor()
    await page.getByLabel('Message to the agent').fill('say something else instead')
    await page.getByRole('button', { name: 'Stop and send' }).click()
    await page.locator('#log').getByText('something else instead', { exact: true }).first().waitFor()
    await page.locator('#standing').getByText('completed').waitFor()
    clean(page)
  },

  async 'defect A3: own words take the place of a choice, and a choice can be taken back'(desk) {
    const ask = () => desk.ask('Which region?', '-o', 'Frankfurt', '-o', 'Oregon')
    const id = await ask()
    const page = await desk.window('/inbox/' + id)
    const own = page.getByLabel('In your own words')
    await page.keyboard.press('2')
    await page.keyboard.press('2')
    assert.equal(await page.getByLabel('Oregon').isChecked(), false)
    await page.getByLabel('Oregon').check()
    await page.getByText('Oregon').click()
    assert.equal(await page.getByLabel('Oregon').isChecked(), false)
    await page.getByLabel('Oregon').check()
    await own.fill('Frankfurt, for a week')
    assert.equal(await page.getByLabel('Oregon').isChecked(), false)
    await page.getByLabel('Frankfurt').check()
    assert.equal(await own.inputValue(), '')
    await page.getByRole('button', { name: 'Restore my words' }).click()
    await own.press('Control+Enter')
    await page.getByText('answered in the browser').waitFor()
    let value = await answersOf(desk, id)
    assert.deepEqual([value.value ?? '', value.freeformValues], ['', ['Frankfurt, for a week']])
    const plain = await desk.window('/inbox/' + await ask(), { javaScriptEnabled: false })
    await plain.getByLabel('Oregon').check()
    await plain.getByLabel('In your own words').fill('Mars')
    await plain.getByRole('button', { name: 'Send answer' }).click()
    await plain.getByText('answered in the browser').waitFor()
    assert.equal(await plain.locator('.review dd').innerText(), 'Mars')
    clean(page)
  },

  async 'defect A4: the terminal opens in the repository'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Look', 'say hello')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    const line = await page.locator('.terminal code').innerText()
    const shown = execFileSync('sh', ['-c', line + ' && git status --short --branch'], { encoding: 'utf8' })
    assert.match(shown, /^## deskhand\//)
    await page.getByRole('button', { name: 'Copy the command' }).waitFor()
    clean(page)
  },

  async 'defect A5, A6: a form that is not taken keeps what was typed, and says what to press'(desk) {
    await work(desk)
    const task = JSON.parse(await desk.run('tasks', 'add', 'Look', '--project', 'shop', '--json')).task_id
    const page = await desk.window('/work/tasks/' + task)
    await page.getByLabel('Agent', { exact: true }).selectOption('fake')
    await page.getByLabel('Branch of shop').fill('nowhere')
    await page.getByText("Custom prompt").click()
    await page.getByLabel('Prompt').fill('say precious')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('alert').getByText('has no branch "nowhere"').waitFor()
    assert.deepEqual([await page.getByLabel('Branch of shop').inputValue(), await page.getByLabel('Prompt').inputValue(), await page.getByLabel('Agent', { exact: true }).inputValue()], ['nowhere', 'say precious', 'fake'])
    assert.doesNotMatch(await page.locator('main').innerText(), /[a-z]+_[a-z]+/) // no name of a tool
    await accessible(page, 'a form that was not taken')
    await page.goto(desk.base + '/work/tasks/0190aaaa-0000-7000-8000-000000000000')
    await page.getByText('There is no such item on the board').waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /list_tasks/)
    clean(page)
  },

  async 'defect A7: what is urgent stands on top, wherever it comes from'(desk) {
    const asked = (place, ...args) => { mkdirSync(join(desk.dir, place), { recursive: true }); execFileSync(process.env.BINARY, ['ask', '--detach', ...args], { cwd: join(desk.dir, place), env: { ...desk.env, DESKHAND_INBOX: 'off' } }) }
    await asked('one', 'First of one?', '--confirm')
    await asked('one', 'Hurry one?', '--confirm', '--priority', 'urgent')
    await asked('two', 'First of two?', '--confirm')
    await asked('two', 'Hurry two?', '--confirm', '--priority', 'urgent')
    const page = await desk.window()
    const order = () => page.locator('#list .heading').allInnerTexts()
    assert.deepEqual(await order(), ['Hurry one?', 'Hurry two?', 'First of one?', 'First of two?'])
    await page.getByRole('heading', { name: 'Urgent' }).waitFor()
    await asked('three', 'Hurry three?', '--confirm', '--priority', 'urgent')
    await until('the new one is among them', async () => (await order()).indexOf('Hurry three?') === 2)
    await page.goto(desk.base + '/')
    for (let i = 0; i < 4; i++) await page.keyboard.press('j', { delay: 5 })
    await until('each press has moved', async () => (await page.locator('#list [aria-current] .heading').innerText()) === 'First of two?')
    clean(page)
  },

  async 'defect A8: a wrong key is refused before anybody is told that it is connected'(desk) {
    const upstream = createServer((r, w) => r.headers.authorization === 'Bearer good-key-123' ? w.writeHead(404).end() : w.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end())
    await new Promise(done => upstream.listen(0, '127.0.0.1', done))
    desk.endings.push(async () => upstream.close())
    const port = await freePort()
    desk.servedAt(port)
    desk.env.DESKHAND_CONFIG = join(desk.dir, 'deskhand.yaml')
    writeFileSync(desk.env.DESKHAND_CONFIG, `connect: {url: '${desk.at}'}\nupstreams:\n  - {name: linear, title: Linear, url: 'http://127.0.0.1:${upstream.address().port}/mcp', credential_scope: user, auth: {kind: header, header: Authorization, format: 'Bearer %s'}}\n`)
    desk.start(['serve', '--tools', 'ask', '--http', '127.0.0.1:' + port])
    await desk.up()
    const call = (method, params, id) => fetch(desk.at + '/mcp', { method: 'POST', headers: { Authorization: 'Bearer a-token-for-tests-of-the-web', 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18', ...(call.session && { 'Mcp-Session-Id': call.session }) }, body: JSON.stringify({ jsonrpc: '2.0', method, params, id }) })
    const hello = await call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }, 1)
    call.session = hello.headers.get('mcp-session-id')
    await hello.text()
    await (await call('notifications/initialized', {})).text()
    call('tools/call', { name: 'linear_connect', arguments: {} }, 2).catch(() => {})
    const asked = await until('somebody is asked', async () => JSON.parse(await desk.run('ask', 'list', '--json')).find(r => r.trigger === 'credential_required'))
    const page = await desk.window('/inbox/' + asked.id)
    await page.getByText('a page of deskhand').waitFor() // C8: and not of a stranger
    await page.goto(desk.base + new URL(asked.url).pathname)
    await page.getByLabel('Your key or token for Linear').fill('wrong-key-123')
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('alert').getByText('Linear refuses this key').waitFor()
    assert.equal((await desk.request(asked.id)).status, 'open')
    await page.getByLabel('Your key or token for Linear').fill('good-key-123')
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('heading', { name: 'Linear is connected' }).waitFor()
    clean(page)
  },

  async 'defect B5: styles of one list do not reach another'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Look', 'say - one', 'say > quoted', 'say [a link](https://example.com)', 'ask Which way?')
    const page = await desk.window(one.path)
    await page.getByRole('textbox', { name: 'Which way?' }).waitFor()
    const item = page.locator('#log li li', { hasText: 'one' })
    await item.waitFor()
    assert.deepEqual(await item.evaluate(e => [getComputedStyle(e).borderLeftWidth, getComputedStyle(e, '::before').content]), ['0px', 'none'])
    // B8: quotes are quotes, and links of agents lead nowhere.
    await page.locator('#log blockquote', { hasText: 'quoted' }).waitFor()
    assert.equal(await page.locator('#log a[href*="example.com"]').count(), 0)
    clean(page)
  },

  async 'defect B7: a long question is said once'(desk) {
    const long = 'Which of the two regions should the shop run in, given that most customers live in Europe but the team works in Oregon and has to debug at night?'
    const page = await desk.window('/inbox/' + await desk.ask(long, '-o', 'Frankfurt', '-o', 'Oregon'))
    await page.getByRole('radio', { name: 'Oregon' }).waitFor()
    const shown = await page.locator('#pane').evaluate(e => { // .hide is for screen readers, as the article's name
      const seen = e.cloneNode(true)
      for (const hidden of seen.querySelectorAll('.hide')) hidden.remove()
      return seen.textContent
    })
    assert.equal(shown.split('Which of the two regions').length, 2, shown)
    clean(page)
  },

  async 'defect B12: what was merged by hand says so, and pages are compressed'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Look', 'write new.txt hello')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('completed').waitFor()
    await page.locator('#standing').getByText('0 behind, 1 ahead').waitFor()
    const branch = JSON.parse(await desk.run('tasks', 'show', one.id, '--json')).workspace_branch
    execFileSync('git', ['-C', join(desk.dir, 'shop'), '-c', 'user.name=a', '-c', 'user.email=a@b', 'merge', '-q', '--no-ff', '-m', 'by hand', branch])
    const sent = await page.goto(desk.base + one.path)
    assert.equal(await sent.headerValue('content-encoding'), 'gzip') // B16
    await page.locator('#standing').getByText('merged into main').waitFor()
    await page.locator('.file', { hasText: 'new.txt' }).first().waitFor()
    clean(page)
  },

  async 'defect B11: an attempt that a person stopped is no alarm'(desk) {
    await work(desk)
    const one = await attempt(desk, 'Wait', 'sleep 60')
    const page = await desk.window(one.path)
    await page.locator('#standing').getByText('running').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.locator('#standing').getByText('stopped').waitFor()
    await page.goto(desk.base + '/work')
    await page.locator('.board .chip').getByText('stopped').waitFor()
    assert.equal(await page.locator('.chip.alarm').count(), 0)
    clean(page)
  },
}
