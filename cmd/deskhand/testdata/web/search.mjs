// The stories of the search page, and of a page that follows the channel.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessible, freePort } from './desk.mjs'

const docs = {
  'guides/backup.md': '---\ntitle: Back up\n---\n\n# Back up\n\n## Before you begin\n\nStop the service.\n\n## Copy the index\n\nCopy the data file first, then `metadata.json`.\n\n```sh\ncp data.idx /backup\n```\n\n## Afterwards\n\nStart the service.\n',
  'reference/flags.md': '# Flags\n\n## The flag --copy\n\nCopies `<script>alert(1)</script>` as it is.\n',
  '.docs-mcp.json': '{"version":"1","strategy":{"chunk_by":"h2"},"overrides":[{"pattern":"guides/**","metadata":{"part":"guide"}},{"pattern":"reference/**","metadata":{"part":"reference"}}]}',
}

// library makes the desk serve docs over HTTP too; what was there serves on.
export async function library(desk) {
  for (const [name, text] of Object.entries(docs)) {
    const file = join(desk.dir, 'docs', name)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, text)
  }
  await desk.run('index', 'docs', '--out', 'index')
  const port = await freePort()
  desk.servedAt(port)
  desk.start(['serve', '--index', 'index', '--http', '127.0.0.1:' + port])
  await desk.up()
}

const shown = (page, name) => process.env.PICTURES ? page.screenshot({ path: join(process.env.PICTURES, name + '.png'), fullPage: true }) : undefined

export const stories = {
  async 'a person searches, reads and copies'(desk) { // I-052 has its own story
    await library(desk)
    const page = await desk.window('/search', { permissions: ['clipboard-read', 'clipboard-write'] })
    await accessible(page, 'the empty search page')
    await shown(page, 'search-empty')
    await page.getByRole('searchbox').fill('copy the index')
    await page.getByRole('searchbox').press('Enter')
    await page.getByRole('link', { name: 'Copy the index' }).waitFor()
    assert.equal(await page.getByRole('listitem').filter({ has: page.locator('meter') }).first().locator('meter').count(), 4)
    await accessible(page, 'hits')
    await page.getByRole('link', { name: 'Copy the index' }).click()
    const reading = page.getByRole('region', { name: 'Back up' })
    await reading.getByText('Stop the service.').waitFor() // the neighbours are there too
    await reading.getByText('Start the service.').waitFor()
    await accessible(page, 'a section being read')
    await shown(page, 'search-reading')
    await reading.getByRole('button', { name: 'Copy' }).click()
    const call = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
    assert.deepEqual(call, { name: 'get_doc', arguments: { chunk_id: 'guides/backup.md#back-up/copy-the-index', context: 1 } })
    await page.getByLabel('part').selectOption('reference')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: 'The flag --copy' }).click()
    await page.getByRole('region', { name: 'Flags' }).getByText('<script>alert(1)</script>').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Copy the index' }).count(), 0)
    assert.deepEqual(page.errors, [])
  },

  async 'the manual: contents, a page and a search'(desk) {
    await library(desk)
    const page = await desk.window('/manual')
    await accessible(page, 'the contents of the manual')
    await shown(page, 'manual-contents')
    await page.getByRole('link', { name: 'Run an attempt' }).click()
    await page.getByRole('heading', { name: 'Run an attempt', level: 1 }).waitFor()
    await accessible(page, 'a page of the manual')
    await shown(page, 'manual-page')
    await page.getByRole('searchbox').fill('exit codes of ask')
    await page.getByRole('searchbox').press('Enter')
    await page.getByRole('link', { name: 'deskhand ask > Exit codes of ask' }).click()
    await page.getByRole('heading', { name: 'Exit codes of ask' }).waitFor()
    assert.match(page.url(), /\/manual\/ask#exit-codes-of-ask$/)
    await page.goto(desk.base + '/manual/no-such-page')
    await page.getByRole('alert').waitFor()
    assert.deepEqual(page.errors, [])
  },

  async 'searching without JavaScript, on a phone, in the dark'(desk) {
    await library(desk)
    const page = await desk.window('/search', { javaScriptEnabled: false, colorScheme: 'dark', viewport: { width: 380, height: 800 } })
    await page.getByRole('searchbox').fill('copy')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: 'Copy the index' }).click()
    await page.getByText('Stop the service.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0)
    await shown(page, 'search-phone-dark')
    const lit = await desk.window('/search?q=copy', { colorScheme: 'dark', viewport: { width: 380, height: 800 } })
    await accessible(lit, 'hits on a phone, in the dark')
    assert.ok(await lit.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than the phone')
  },

  async 'a page of this server follows the channel, a foreign one does not'(desk) { // E-002, E-013
    await library(desk)
    const id = await desk.ask('Which way?')
    const page = await desk.window('/search')
    const state = await page.evaluate(() => new Promise((done, fail) => {
      const socket = new WebSocket('/ahp')
      let n = 0
      const send = (method, params) => socket.send(JSON.stringify({ jsonrpc: '2.0', id: ++n, method, params }))
      socket.onerror = () => fail(new Error('no connection'))
      socket.onopen = () => send('initialize', { clientId: 'page', protocolVersions: ['0.3.0'], initialSubscriptions: ['ahp-root://'] })
      socket.onmessage = m => {
        const { id, result } = JSON.parse(m.data)
        if (id === 1) send('subscribe', { resource: result.snapshots[0].state.sessions[0].resource })
        if (id === 2) done(result.snapshot.state)
      }
    }))
    assert.deepEqual(state.inputRequests.map(r => r.id), [id])
    assert.equal(state.summary.status, 24)
    const foreign = await page.context().newPage()
    await foreign.goto('http://localhost:' + new URL(desk.base).port + '/healthz')
    const refused = await foreign.evaluate(base => new Promise(done => {
      const socket = new WebSocket(base.replace('http', 'ws') + '/ahp')
      socket.onerror = () => done('refused')
      socket.onopen = () => done('open')
    }), desk.base)
    assert.equal(refused, 'refused')
  },
}
