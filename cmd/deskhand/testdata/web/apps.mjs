// The stories of the views that a client shows in the conversation, in the
// reference host of the extension MCP Apps (apps-host.mjs).
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { work } from './board.mjs'
import { accessible, freePort, patience, sleep, until } from './desk.mjs'
import { library } from './search.mjs'

const { PICTURES } = process.env
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let bundle // of the host, made once
const hostScript = () => bundle ??= buildSync({ entryPoints: [join(import.meta.dirname, 'apps-host.mjs')], bundle: true, format: 'esm', write: false, logLevel: 'error' }).outputFiles[0].text

// policy is what the specification asks of a host for a page that names no
// address.
const policy = csp => ['default-src \'none\'', 'script-src \'self\' \'unsafe-inline\'', 'style-src \'self\' \'unsafe-inline\'', 'img-src \'self\' data:', 'media-src \'self\' data:',
  'frame-src \'self\'', 'object-src \'none\'', 'base-uri \'self\'', 'connect-src ' + (csp?.connectDomains?.join(' ') || '\'none\'')].join('; ')

const listen = (desk, handler) => new Promise(done => {
  const s = createServer(handler).listen(0, '127.0.0.1', () => done(s.address().port))
  desk.endings.push(async () => { s.closeAllConnections(); s.close() })
})

// host is a page that hosts views of the server at desk.base, as a window of its own.
async function host(desk, options = {}) {
  const sandboxPort = await listen(desk, (q, a) => {
    const csp = JSON.parse(new URL(q.url, 'http://sandbox').searchParams.get('csp') ?? 'null')
    a.writeHead(200, { 'Content-Type': 'text/html', 'Content-Security-Policy': policy(csp) }).end(readFileSync(join(import.meta.dirname, 'apps-sandbox.html')))
  })
  const server = new URL(desk.at)
  const port = await listen(desk, (q, a) => {
    if (q.url === '/mcp') { // the page has no token, and is of no origin that the server knows
      const { origin, host, ...headers } = q.headers
      const there = request({ host: server.hostname, port: server.port, path: '/mcp', method: q.method, headers: { ...headers, authorization: 'Bearer ' + desk.env.DESKHAND_TOKEN } }, r => { a.writeHead(r.statusCode, r.headers); r.pipe(a) })
      there.on('error', () => a.destroy())
      a.on('close', () => there.destroy())
      return q.pipe(there)
    }
    if (q.url === '/host.mjs') return a.writeHead(200, { 'Content-Type': 'text/javascript' }).end(hostScript())
    a.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><html lang="en"><title>Conversation</title><meta name="viewport" content="width=device-width"><body><h1>Conversation</h1><input id="chat" aria-label="Message"><script>globalThis.sandboxPort = ${sandboxPort}</script><script type="module" src="/host.mjs"></script>`)
  })
  const context = await desk.browser.newContext({ viewport: { width: 760, height: 900 }, reducedMotion: 'reduce', ...options })
  desk.contexts.push(context)
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  page.errors = []
  page.asked = [] // what the frames of views asked the network for
  page.on('pageerror', e => page.errors.push(String(e)))
  page.on('console', m => { if (m.type() === 'error' && !/favicon/.test(m.location().url)) page.errors.push(m.text()) })
  page.on('request', q => { if (q.frame().parentFrame()?.parentFrame() && !/^(about|data):/.test(q.url())) page.asked.push(q.url()) })
  await page.goto(`http://127.0.0.1:${port}/`)
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
  page.view = n => page.frameLocator('#view' + n).frameLocator('iframe')
  page.frameOf = async n => (await (await page.locator('#view' + n).elementHandle()).contentFrame()).childFrames()[0]
  return page
}

// serve makes the desk ask over HTTP.
async function serve(desk, more = {}) {
  const port = await freePort()
  desk.servedAt(port)
  desk.start(['serve', '--tools', 'ask', '--http', '127.0.0.1:' + port], undefined, more)
  await desk.up()
}

// fine fails with what axe finds in a view: light in the window as it is, dark at
// 320 pixels.
async function fine(page, n, what) {
  const frame = await page.frameOf(n), size = page.viewportSize()
  await frame.evaluate(axe)
  for (const [theme, width] of [['dark', 336], ['light', size.width]]) { // 320 beside the margins of the page
    await page.evaluate(([n, theme]) => context(n, { theme }), [n, theme])
    await until('the view is ' + theme, () => frame.evaluate(theme => getComputedStyle(document.documentElement).colorScheme === theme, theme))
    await page.setViewportSize({ width, height: size.height })
    const found = JSON.parse(await frame.evaluate(() => axe.run(document, { resultTypes: ['violations'] }).then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary).join(' | '))))))
    assert.deepEqual(found, [], `${what}, ${theme}, ${width}`)
    assert.ok(await frame.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than ${width} pixels`)
    if (PICTURES) { await sleep(150); await page.screenshot({ path: join(PICTURES, `view, ${what}, ${theme}, ${width}.png`), fullPage: true }) }
  }
}

// quiet: nothing was asked of the network, and nothing was refused by a policy.
const quiet = page => assert.deepEqual([page.errors, page.asked], [[], []])
const ended = (page, n) => until('the call has ended', () => page.evaluate(n => resultOf(n), n))

const release = { title: 'The release', questions: [
  { id: 'name', question: 'What is it called?', type: 'text' },
  { id: 'when', question: 'When?', type: 'select', options: ['Today', 'Next week'] },
  { id: 'break', question: 'May it break?', type: 'confirm' },
] }

export const stories = {
  async 'views: a question is answered in the conversation'(desk) {
    await serve(desk)
    const page = await host(desk)
    const tools = await page.evaluate(() => connect())
    assert.deepEqual(tools.filter(t => t.view || t.onlyViews), [{ name: 'ask_user', view: 'ui://deskhand/ask', onlyViews: false }, { name: 'ask_view', onlyViews: true }])
    const n = await page.evaluate(r => call('ask_user', r, { theme: 'light', locale: 'en' }), release)
    const view = page.view(n)
    await view.getByRole('heading', { name: 'The release' }).waitFor()
    await fine(page, n, 'a question')
    const id = await view.locator('#pane').getAttribute('data-id')

    // One draft, wherever it is typed.
    const inbox = await desk.window('/inbox/' + id)
    await view.getByLabel('What is it called?').pressSequentially('thin', { delay: 20 })
    const there = inbox.getByLabel('What is it called?')
    await until('the inbox has the draft', async () => await there.inputValue() === 'thin')
    await inbox.getByText('Being answered in a conversation').first().waitFor()
    await there.fill('things')
    await until('the view has the draft', async () => await view.getByLabel('What is it called?').inputValue() === 'things')
    await inbox.getByLabel('Next week').check()
    await until('the view has the choice', () => view.getByLabel('Next week').isChecked())

    // It can be put aside, and what is missing is said.
    await view.getByRole('button', { name: 'Minimize' }).click()
    await view.locator('#open').waitFor({ state: 'hidden' })
    await until('the frame is small', async () => (await page.locator('#view' + n).boundingBox()).height < 80)
    await view.getByRole('button', { name: 'Show the question' }).click()
    await view.getByRole('button', { name: 'Send answers' }).click()
    await view.getByRole('alert').getByText('Nothing was sent yet').waitFor()
    await fine(page, n, 'a question with a problem')
    assert.equal(await page.evaluate(n => resultOf(n), n), undefined)

    await view.getByRole('group', { name: 'May it break?' }).getByLabel('No').check()
    await view.getByText('Add a note').click()
    await view.getByLabel('Sent to the agent with your answer').fill('but only after 18:00')
    await view.getByLabel('What is it called?').press('Control+Enter')
    const { result } = await ended(page, n)
    assert.deepEqual(JSON.parse(result.content[0].text).answers.map(a => a.values[0]), ['things', 'Next week', 'no'])
    await view.getByText('answered in the conversation').waitFor()
    await inbox.getByText('answered in the conversation').waitFor()
    await fine(page, n, 'an answered question')
    const r = await desk.request(id)
    assert.deepEqual([r.completion.outcome, r.completion.channel, r.completion.note], ['accept', 'app', 'but only after 18:00'])
    assert.equal(await view.getByRole('link').count(), 0) // nothing leads out of the view
    await page.evaluate(n => teardown(n), n)
    quiet(page)
  },

  async 'views: declined there, answered elsewhere, late'(desk) {
    await serve(desk)
    const page = await host(desk)
    await page.evaluate(() => connect({ form: true })) // a dialog too: the view comes first
    const n = await page.evaluate(() => call('ask_user', { questions: [{ question: 'Deploy?', type: 'confirm' }] }, { theme: 'dark' }))
    await page.view(n).getByText('Add a note').click()
    await page.view(n).getByLabel('Sent to the agent with your answer').fill('ask Ada')
    await page.view(n).getByRole('button', { name: 'Decline' }).click()
    const declined = await ended(page, n)
    assert.deepEqual([JSON.parse(declined.result.content[0].text).cancelled, /ask Ada/.test(declined.result.content[1].text)], [true, true])
    await page.view(n).getByText('declined in the conversation').waitFor()

    // Two calls with the same words have a view each.
    const ask = { questions: [{ question: 'Which one?', type: 'text' }] }
    const one = async () => {
      const n = await page.evaluate(q => call('ask_user', q), ask)
      await page.view(n).getByRole('textbox', { name: 'Which one?' }).waitFor() // before the next: a view takes the newest that none shows
      return n
    }
    const [a, b] = [await one(), await one()]
    const ids = await Promise.all([a, b].map(n => page.view(n).locator('#pane').getAttribute('data-id')))
    assert.notEqual(ids[0], ids[1])
    await page.view(a).getByRole('textbox', { name: 'Which one?' }).fill('half a wo')
    const inbox = await desk.window('/inbox/' + ids[0])
    await until('the inbox has the draft', async () => await inbox.getByRole('textbox', { name: 'Which one?' }).inputValue() === 'half a wo')
    await inbox.getByRole('textbox', { name: 'Which one?' }).fill('that one')
    await page.locator('#chat').focus()
    await inbox.getByRole('button', { name: 'Send answer' }).click()
    const elsewhere = await ended(page, a)
    assert.deepEqual(JSON.parse(elsewhere.result.content[0].text).answers[0].values, ['that one'])
    await page.view(a).getByText('answered in the browser').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement.id), 'chat') // what comes from elsewhere takes no focus
    await page.view(b).getByRole('textbox', { name: 'Which one?' }).waitFor() // still open

    // A host that carries one call at a time: a draft waits for one look at most.
    const slow = await page.evaluate(() => call('ask_user', { questions: [{ question: 'In a row?', type: 'text' }] }, {}, 'one by one'))
    await page.view(slow).getByRole('textbox', { name: 'In a row?' }).fill('yes')
    await page.view(slow).getByText('Draft saved').waitFor()
    await page.view(slow).getByRole('button', { name: 'Send answer' }).click()
    await ended(page, slow)
    await page.view(slow).getByText('answered in the conversation').waitFor()
    // One that withholds what is for the view says where to go.
    const bare = await page.evaluate(() => call('ask_user', { questions: [{ question: 'Here?', type: 'text' }] }, {}, 'bare'))
    await page.view(bare).getByText('Answer in deskhand\'s inbox').waitFor()

    // The deadline ends the call and not the question.
    const late = await page.evaluate(q => call('ask_user', { ...q, timeout: 10000 }, {}), { questions: [{ question: 'And then?', type: 'text' }] })
    const timedOut = await ended(page, late)
    assert.equal(JSON.parse(timedOut.result.content[0].text).timedOut, true, JSON.stringify(timedOut))
    await page.view(late).getByText('The deadline has passed').waitFor()
    await page.view(late).getByRole('textbox', { name: 'And then?' }).fill('go on')
    await page.view(late).getByRole('button', { name: 'Send answer' }).click()
    await page.view(late).getByText('late; the answer is kept for the asker').waitFor()
    assert.equal(await page.evaluate(() => dialogs), 0)
    quiet(page)
  },

  async 'views: a model cannot answer its own question'(desk) {
    await serve(desk)
    const page = await host(desk)
    await page.evaluate(() => connect())
    const asked = { questions: [{ question: 'Delete everything?', type: 'confirm' }] }
    const n = await page.evaluate(q => call('ask_user', q), asked)
    await page.view(n).getByLabel('Yes').waitFor()
    const id = await page.view(n).locator('#pane').getAttribute('data-id')
    const tryIt = args => page.evaluate(a => asModel('ask_view', a), args)
    const refused = r => assert.match(r.content[0].text, /only a question's form can call this/)
    refused(await tryIt({ do: 'open', arguments: asked }))
    refused(await tryIt({ do: 'act', request_id: id, body: 'do.act=send&a.q1=yes' }))
    refused(await tryIt({ do: 'act', request_id: id, key: 'AAAA', body: 'do.act=send&a.q1=yes' }))
    // One that reads pages gets the proof, and no key: that is where models do not look.
    const proof = /name="proof" content="([^"]+)"/.exec(await page.evaluate(() => readAsModel('ui://deskhand/ask')))[1]
    const opened = await tryIt({ do: 'open', proof, arguments: asked })
    assert.deepEqual(opened, { content: [{ type: 'text', text: 'The question was shown to the person.' }] })
    refused(await tryIt({ do: 'act', request_id: id, key: proof, body: 'do.act=send&a.q1=yes' }))
    assert.equal((await desk.request(id)).status, 'open')

    // A client that does not show views hears of none of it.
    const plain = await host(desk)
    const tools = await plain.evaluate(() => connect({ views: false }))
    assert.deepEqual(tools, ['ask_user', 'await_answer', 'list_questions'].map(name => ({ name, onlyViews: false })))
    assert.match((await plain.evaluate(() => asModel('ask_view', { do: 'open' }))).error, /unknown tool/)
    quiet(page)

    await page.view(n).getByLabel('No', { exact: true }).check()
    await page.view(n).getByRole('button', { name: 'Send answer' }).click()
    await ended(page, n)

    // A host that shows a view when the call has ended, or a conversation again.
    const before = page.evaluate(() => call('ask_user', { questions: [{ question: 'Shown later?', type: 'text' }] }, {}, 'afterwards'))
    const inbox = await desk.window('/')
    await inbox.getByRole('textbox', { name: 'Shown later?' }).fill('yes')
    await inbox.getByRole('button', { name: 'Send answer' }).click()
    const later = page.view(await before)
    await later.getByText('answered in the browser').waitFor()
    await later.getByText('yes', { exact: true }).waitFor()
    quiet(page)

    const off = desk.base
    await serve(desk, { DESKHAND_VIEWS: 'off' })
    assert.notEqual(desk.base, off)
    const without = await host(desk)
    assert.ok((await without.evaluate(() => connect())).every(t => !t.view && !t.onlyViews))
  },

  async 'views: hits of a search are read in the conversation'(desk) {
    await library(desk)
    const page = await host(desk)
    await page.evaluate(() => connect())
    const n = await page.evaluate(() => call('search_docs', { query: 'copy the index' }, { theme: 'light' }))
    const view = page.view(n)
    await view.getByText(/sections? found for “copy the index”/).first().waitFor()
    await until('the frame is one line', async () => (await page.locator('#view' + n).boundingBox()).height < 70)
    await view.locator('summary').click()
    await fine(page, n, 'hits')
    await view.getByRole('button', { name: 'Copy the index' }).click()
    await view.locator('#text').getByText('Copy the data file first').waitFor()
    await fine(page, n, 'a section')
    await view.getByRole('button', { name: 'Back to the hits' }).click()
    await view.getByRole('searchbox').fill('flag')
    await view.getByRole('searchbox').press('Enter')
    await view.getByRole('button', { name: 'The flag --copy' }).click()
    await view.locator('#text').getByText('<script>alert(1)</script>').waitFor()
    quiet(page)
  },

  async 'views: an attempt is followed in the conversation'(desk) {
    await work(desk)
    const task = JSON.parse(await desk.run('tasks', 'add', 'Round the prices', '--project', 'shop', '--json'))
    const page = await host(desk)
    await page.evaluate(() => connect())
    const { projects } = (await page.evaluate(() => asModel('list_projects', {}))).structuredContent
    const { repos } = (await page.evaluate(id => asModel('list_repos', { project_id: id }), projects[0].project_id)).structuredContent
    const n = await page.evaluate(([task_id, repo_id]) => call('start_task_attempt', { task_id, executor: 'fake', repos: [{ repo_id }], prompt: 'say I look first.\nask Up or down?\nwrite prices.txt tea 1.00\nsay Done, with thanks.' }, { theme: 'light' }), [task.task_id, repos[0].repo_id])
    const view = page.view(n)
    await view.getByText('running').waitFor()
    await view.getByText('1 question is waiting for you in the inbox: Up or down?').waitFor()
    await fine(page, n, 'an attempt that asks')
    const inbox = await desk.window('/')
    await inbox.getByRole('textbox', { name: 'Up or down?' }).fill('down')
    await inbox.getByRole('button', { name: 'Send answer' }).click()
    await view.getByText('completed').waitFor()
    await view.getByText('Done, with thanks.', { exact: true }).waitFor()
    await view.getByText('1 file changed').waitFor()
    await fine(page, n, 'an attempt that has ended')
    quiet(page)
  },
}
