// What the stories stand on: deskhand processes over one store, browsers that
// have signed in, and questions.
import { spawn, execFile } from 'node:child_process'
import { mkdtempSync, rmSync, readFileSync } from 'node:fs'
import { createHmac } from 'node:crypto'
import dns from 'node:dns'
import { createServer } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'

const { BINARY, BROWSER, PICTURES } = process.env
const token = 'a-token-for-tests-of-the-web'
const key = 'the-key-of-the-person-on-the-web'
// The name that sessions belong to follows from the key.
const home = 'deskhand-' + createHmac('sha256', key).update('host').digest('hex').slice(0, 16) + '.localhost'
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// Browsers find names under .localhost by themselves, Node.js asks the system.
const found = name => name?.endsWith('.localhost') ? '127.0.0.1' : name
const { lookup } = dns, promised = dns.promises.lookup
dns.lookup = (name, ...rest) => lookup(found(name), ...rest)
dns.promises.lookup = (name, ...rest) => promised(found(name), ...rest)

export const sleep = ms => new Promise(done => setTimeout(done, ms))

// patience is how long a story waits for what has to come, in milliseconds: much
// more than it takes, as the machine may be busy.
export const patience = 30000

export async function until(what, check, most = patience) {
  let last
  for (const end = Date.now() + most; Date.now() < end; await sleep(20)) {
    try { const got = await check(); if (got) return got } catch (e) { last = e }
  }
  throw new Error(`${what}: not within ${most} ms${last ? ', ' + last.message : ''}`)
}

export const freePort = () => new Promise(done => {
  const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)) })
})

export const launch = () => chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox', '--disable-dev-shm-usage'] })

// Desk is a store of its own and what runs over it.
export class Desk {
  constructor(browser) {
    this.browser = browser
    this.dir = mkdtempSync(join(tmpdir(), 'deskhand-web-'))
    this.running = []
    this.contexts = []
    this.endings = [] // what is done before all else ends
    this.env = { ...process.env, CI: '', DESKHAND_STATE: this.dir, DESKHAND_TOKEN: token, DESKHAND_PERSON_KEY: key, DESKHAND_TASKS_SANDBOX: 'none', DESKHAND_LOG_LEVEL: 'error' } // scripts of the stories play agents
  }

  // open makes a desk whose inbox is served by a process over stdio.
  static async open(browser) {
    const d = new Desk(browser)
    d.port = await freePort()
    d.servedAt(d.port)
    d.env.DESKHAND_INBOX = '127.0.0.1:' + d.port
    d.server = d.peer()
    await d.up()
    return d
  }

  // servedAt says where the pages are: base is what browsers use, and at what
  // programs do, which need not find names under .localhost.
  servedAt(port) {
    this.at = 'http://127.0.0.1:' + port
    this.base = 'http://' + home + ':' + port
  }

  peer() { return this.start(['serve', '--tools', 'ask']) }

  start(args, program = BINARY, more = {}) {
    const p = spawn(program, args, { env: { ...this.env, ...more }, cwd: this.dir, stdio: ['pipe', 'pipe', 'pipe'] })
    p.said = ''
    p.ended = new Promise(done => p.on('close', code => done(code)))
    for (const s of [p.stdout, p.stderr]) s.on('data', text => { p.said += text })
    this.running.push(p)
    return p
  }

  // terminal runs a command at a terminal of its own, which the tool script makes.
  terminal(...args) {
    return this.start(['-qfec', 'stty cols 80 rows 24; exec ' + [BINARY, ...args].join(' '), '/dev/null'], 'script', { TERM: 'xterm-256color' })
  }

  up() { return until('the inbox is up', async () => (await fetch(this.at + '/healthz')).ok) }

  async run(...args) {
    const { stdout } = await promisify(execFile)(BINARY, args, { env: { ...this.env, DESKHAND_INBOX: 'off' }, cwd: this.dir })
    return stdout.trim()
  }

  // ask puts a question to people and gives its id.
  ask(...args) { return this.run('ask', '--detach', ...args) }

  async request(id) { return JSON.parse(await this.run('ask', 'show', id, '--json')) }

  // window is a browser of its own that has signed in.
  async window(path = '/', options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 850 }, ...options })
    this.contexts.push(context)
    context.setDefaultTimeout(patience)
    const page = await context.newPage()
    page.errors = []
    page.on('pageerror', e => page.errors.push(String(e)))
    page.on('console', m => { if (m.type() === 'error' && !/Failed to load resource|net::ERR/.test(m.text())) page.errors.push(m.text()) })
    await page.goto(this.at + '/login?to=' + encodeURIComponent(path))
    await page.getByLabel('person key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(this.base + path)
    if (options.javaScriptEnabled !== false && !/^.(history|manual)/.test(path)) await page.waitForSelector('html[data-ready]', { state: 'attached' })
    return page
  }

  // seen is what the windows show, for who looks why a story failed.
  async seen() {
    const pages = this.contexts.flatMap(c => c.pages())
    const texts = pages.map(async p => `     ${p.url()}: ${(await p.locator('body').innerText({ timeout: 1000 }).catch(e => e.message)).replace(/\s+/g, ' ').slice(0, 600)}`)
    return (await Promise.all(texts)).join('\n')
  }

  async close() {
    for (const end of this.endings) await end().catch(() => {})
    for (const c of this.contexts) await c.close().catch(() => {})
    for (const p of this.running) p.kill()
    await Promise.all(this.running.map(p => p.ended))
    rmSync(this.dir, { recursive: true, force: true })
  }
}

// ways are how a page is looked at; each is an emulation of the browser.
const ways = { dark: { colorScheme: 'dark' }, light: {}, 'forced colours': { forcedColors: 'active' } }

// looked holds the paths that axe has seen.
export const looked = new Set()

// accessible fails with what axe finds in each way, and at 200 % zoom, which is
// half the width, and with what moves for who wants nothing to. It takes
// pictures if they are wanted. Contrasts in forced colours are the browser's.
export async function accessible(page, what) {
  looked.add(new URL(page.url()).pathname)
  // The policy of the page allows no script but its own: axe comes another way.
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Runtime.evaluate', { expression: axe })
  const look = async way => {
    const { result } = await cdp.send('Runtime.evaluate', {
      expression: `axe.run(document, {resultTypes: ['violations'], rules: {'color-contrast': {enabled: ${way !== 'forced colours'}}}}).then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + (n.failureSummary || '')).join(' | '))))`,
      awaitPromise: true, returnByValue: true,
    })
    const found = JSON.parse(result.value)
    if (found.length) throw new Error(`axe on ${what}, ${way}: ${found.join('\n  ')}`)
    if (await page.evaluate(() => document.getAnimations().length)) throw new Error(`${what}, ${way}: something moves`)
    if (PICTURES) await page.screenshot({ path: join(PICTURES, `${what}, ${way}.png`) })
  }
  for (const [way, media] of Object.entries(ways)) {
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', reducedMotion: 'reduce', ...media })
    await look(way)
  }
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', reducedMotion: 'reduce' })
  const size = page.viewportSize()
  for (const width of new Set([Math.max(320, size.width / 2), 320])) {
    await page.setViewportSize({ width, height: size.height / 2 })
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) throw new Error(`${what} is wider than ${width} pixels`)
    if (width > 320) await look('zoomed')
  }
  await page.setViewportSize(size)
}
