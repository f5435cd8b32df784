// The stories of the static site: below a path of a web server, from a disk, and on a phone. SITE
// is the folder that make site wrote.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { accessible, patience } from './desk.mjs'

const { SITE, PICTURES } = process.env
const kinds = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' }

// published serves the site below a path, as a project's page on a host of pages does.
const published = desk => new Promise(done => {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://site').pathname
    const name = path.startsWith('/deskhand/') && path.slice('/deskhand/'.length) || 'index.html'
    try {
      const text = readFileSync(join(SITE, name))
      response.writeHead(path.startsWith('/deskhand/') ? 200 : 404, { 'Content-Type': kinds[extname(name)] }).end(text)
    } catch {
      response.writeHead(404).end()
    }
  }).listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${server.address().port}/deskhand/`))
  desk.endings.push(() => new Promise(ended => { server.close(ended); server.closeAllConnections() }))
})

// reader opens a page of the site, and records what it asks other hosts for.
const reader = async (desk, address, options = {}) => {
  const context = await desk.browser.newContext({ viewport: { width: 1280, height: 850 }, ...options })
  desk.contexts.push(context)
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  page.errors = []
  page.on('pageerror', e => page.errors.push(String(e)))
  // A page that is left cancels what it still loads, for example its icon.
  page.on('requestfailed', r => { if (r.failure()?.errorText !== 'net::ERR_ABORTED') page.errors.push('failed: ' + r.url()) })
  page.on('response', r => { if (r.status() >= 400 && !r.url().endsWith('/favicon.ico')) page.errors.push(r.status() + ': ' + r.url()) })
  page.on('request', r => { if (!r.url().startsWith(new URL('.', address).href.split('/').slice(0, 3).join('/'))) page.errors.push('elsewhere: ' + r.url()) })
  await page.goto(address)
  return page
}

const finds = async (page, query, name) => {
  await page.getByRole('searchbox').fill(query)
  await page.getByRole('searchbox').press('Enter')
  await page.getByRole('link', { name, exact: true }).first().waitFor()
}

export const stories = !SITE ? {} : {
  async 'the site: contents, a search and a page, below a path'(desk) {
    const page = await reader(desk, await published(desk))
    await accessible(page, 'the contents of the site')
    await finds(page, 'exit codes of ask', 'deskhand ask > Exit codes of ask')
    await accessible(page, 'hits on the site')
    await page.getByRole('link', { name: 'deskhand ask > Exit codes of ask' }).click()
    await page.getByRole('heading', { name: 'Exit codes of ask' }).waitFor()
    assert.match(page.url(), /\/deskhand\/ask\.html#exit-codes-of-ask$/)
    await accessible(page, 'a page of the site')
    await finds(page, 'idnex a folder', 'Index a docs folder') // a slip
    await page.goto(page.url().replace(/index\.html.*$/, 'commands/index.html')) // a page in a folder
    await finds(page, 'cut pages', 'Cut pages into chunks')
    assert.deepEqual(page.errors, [])
  },

  async 'the site from a disk, in the dark, on a phone'(desk) {
    const page = await reader(desk, pathToFileURL(join(SITE, 'index.html')).href, { colorScheme: 'dark', viewport: { width: 320, height: 640 } })
    await finds(page, 'port 20310 is already in use', 'Errors of deskhand serve, search and get > port 20310 is already in use on 127.0.0.1')
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
    assert.ok(await fits(), 'hits are wider than the phone')
    if (PICTURES) await page.screenshot({ path: join(PICTURES, 'site-hits-phone.png') })
    for (const name of ['settings', 'ask', 'move-from-docs-mcp', 'commands/index', 'work-errors']) {
      await page.goto(pathToFileURL(join(SITE, name + '.html')).href)
      assert.ok(await fits(), name + ' is wider than the phone')
    }
    if (PICTURES) await page.screenshot({ path: join(PICTURES, 'site-page-phone.png') })
    assert.deepEqual(page.errors, [])
  },

  async 'the site without JavaScript'(desk) {
    const page = await reader(desk, await published(desk), { javaScriptEnabled: false })
    assert.match(await page.locator('main').innerText(), /The search needs JavaScript/)
    await page.getByRole('link', { name: 'Run an attempt' }).click()
    await page.getByRole('heading', { name: 'Run an attempt', level: 1 }).waitFor()
    assert.deepEqual(page.errors, [])
  },
}
