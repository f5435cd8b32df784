// The stories of the search page, and of a page that follows the channel.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessible, freePort, until } from './desk.mjs'

const docs = {
  'guides/backup.md': '---\ntitle: Back up\n---\n\n# Back up\n\n## Before you begin\n\nStop the service.\n\n## Copy the index\n\nCopy the data file first, then `metadata.json`.\n\n```sh\ncp data.idx /backup\n```\n\n## Afterwards\n\nStart the service.\n',
  'reference/flags.md': '# Flags\n\n## The flag --copy\n\nCopies `<script>alert(1)</script>` as it is.\n',
  '.docs-mcp.json': '{"version":"1","strategy":{"chunk_by":"h2"},"overrides":[{"pattern":"guides/**","metadata":{"part":"guide"}},{"pattern":"reference/**","metadata":{"part":"reference"}}]}',
}

// library makes the desk serve docs over HTTP too; what was there serves on.
export async function library(desk, more = {}) {
  for (const [name, text] of Object.entries({ ...docs, ...more })) {
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
    await reading.getByRole('figure').getByRole('button', { name: 'Copy' }).first().click()
    const call = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
    assert.deepEqual(call, { name: 'get_doc', arguments: { chunk_id: 'guides/backup.md#back-up/copy-the-index', context: 1 } })
    await page.getByLabel('part').selectOption('reference')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: 'The flag --copy' }).click()
    await page.getByRole('region', { name: 'Flags' }).getByText('<script>alert(1)</script>').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Copy the index' }).count(), 0)
    assert.deepEqual(page.errors, [])
  },

  async 'defect C1: a search is followed while it is typed, by keys, and its numbers sum up'(desk) {
    await library(desk, {
      'volumes.md': '# Resize a volume\n\n## Usage\n\nRun `volume resize` on a volume that is in use.\n\n## Shrink it\n\nTo make a volume smaller, resize it while it is not in use.\n',
      'pools.md': '# Resize a pool\n\n## Usage\n\nRun `pool resize` with a size.\n',
    })
    const page = await desk.window('/search')
    await page.getByText(/^\d+ pages, \d+ sections, indexed \d+ \w+ \d{4}/).waitFor()
    assert.ok(await page.locator('.row', { hasText: 'For example' }).getByRole('link').count() >= 1)
    const field = page.getByRole('searchbox'), hits = page.locator('.hit h3 a')
    await field.pressSequentially('volume resize in use')
    await until('the hits are there without Enter', async () => await hits.count() >= 3)
    assert.equal(new URL(page.url()).searchParams.get('q'), 'volume resize in use')
    const at = await page.locator('.hit').evaluateAll(all => all.map(li => [li.querySelector('code').textContent.split(':')[0], li.classList.contains('same')]))
    for (const [i, [file, same]] of at.entries()) assert.equal(same, at.slice(0, i).some(([other]) => other === file), 'hits of one page stand together') // and below its first
    for (const [i, [file, same]] of at.entries()) if (same) assert.equal(at[i - 1][0], file)
    for (const word of await page.locator('.snippet strong').allInnerTexts()) assert.match(word, /volume|resize|use/i) // and no "in" alone
    await accessible(page, 'a search while it is typed')
    await field.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    assert.ok(await hits.nth(1).evaluate(e => e === document.activeElement))
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    const reading = page.locator('#reading')
    await reading.waitFor()
    assert.equal(await reading.evaluate(e => getComputedStyle(e).outlineStyle), 'none') // no ring around all of it
    await reading.getByText('This is the answer').click()
    const [one] = JSON.parse('[' + await reading.locator('details .copy code').innerText() + ']')
    assert.deepEqual([one.query, one.expected.length], ['volume resize in use', 1])
    writeFileSync(join(desk.dir, 'cases.json'), JSON.stringify([one]))
    assert.match(await desk.run('eval', '--index', 'index', 'cases.json'), /^all +1 /m)
    await accessible(page, 'a case for a measurement')

    await page.goto(desk.base + '/search?q=--copy') // a name, whose hits the ranker leaves alone
    await hits.first().waitFor()
    for (const hit of await page.locator('.hit').all()) { // each part by its weight
      const sum = (await hit.locator('.why dd').allInnerTexts()).map(t => t.match(/([\d.]+) × ([\d.]+)/)).reduce((sum, m) => sum + m[1] * m[2], 0)
      const score = Number(await hit.locator('.score').innerText())
      assert.ok(Math.abs(Math.min(1, sum) - score) < 0.02, `the parts are ${sum}, the score ${score}`)
    }

    // The browser keeps the last questions until they are forgotten; Ctrl+K leads to the docs.
    await page.goto(desk.base + '/search')
    await page.locator('#recent').getByRole('link', { name: 'volume resize in use' }).waitFor()
    await accessible(page, 'the last searches')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to' }).fill('shrink')
    await page.getByRole('option', { name: 'Search the docs for “shrink”' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=shrink/)
    await hits.first().waitFor()
    await page.goto(desk.base + '/search?q=xylophone')
    assert.equal((await page.locator('.hits').innerText()).match(/nothing|no section|no matches|0 results/gi).length, 2) // the heading, and a hint
    await page.goto(desk.base + '/search')
    await page.getByRole('button', { name: 'Forget them' }).click()
    await page.reload()
    assert.equal(await page.locator('#recent').isVisible(), false)
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
