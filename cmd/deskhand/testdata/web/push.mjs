// The stories of the installed page: manifest, service worker and push messages. A
// browser of a test reaches no push service: its subscription is one of our own, and
// the service worker gets its message from the browser's tools.
import assert from 'node:assert/strict'
import { createECDH, randomBytes } from 'node:crypto'
import { accessible, freePort, until } from './desk.mjs'

export const stories = {
  async 'push: the page can be installed, and shows what is pushed'(desk) {
    const page = await desk.window()
    await page.context().grantPermissions(['notifications'])
    const cdp = await page.context().newCDPSession(page)
    const { errors, data, url } = await cdp.send('Page.getAppManifest')
    assert.deepEqual([errors, new URL(JSON.parse(data).start_url, url).pathname], [[], '/'])
    const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors')
    assert.deepEqual(installabilityErrors.map(e => e.errorId).filter(id => id !== 'in-incognito'), [])
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => 1))
    let registration
    cdp.on('ServiceWorker.workerRegistrationUpdated', e => { registration ??= e.registrations.find(r => r.scopeURL === desk.base + '/')?.registrationId })
    await cdp.send('ServiceWorker.enable')
    await until('the worker is known', () => registration)
    // Chromium deletes a notification that it has stored but not shown yet if a page asks
    // for its notifications in between. So the worker counts what is shown, and the page
    // asks only once.
    const worker = await until('the worker runs', () => page.context().serviceWorkers()[0])
    await worker.evaluate(() => {
      const show = ServiceWorkerRegistration.prototype.showNotification
      self.shown = 0
      ServiceWorkerRegistration.prototype.showNotification = async function (...args) { await show.apply(this, args); self.shown++ }
    })
    const id = await desk.ask('Deploy?', '--confirm')
    await cdp.send('ServiceWorker.deliverPushMessage', { origin: desk.base, registrationId: registration, data: JSON.stringify({ title: 'Deploy?', body: 'asked by tester', path: '/inbox/' + id, tag: id }) })
    await until('it is shown', () => worker.evaluate(() => self.shown))
    const shown = await page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(n => [n.title, n.body, n.tag, n.data.path]))
    assert.deepEqual(shown, [['Deploy?', 'asked by tester', id, '/inbox/' + id]])
    assert.deepEqual(page.errors, [])
  },

  async 'push: a browser subscribes, and unsubscribes'(desk) {
    const page = await desk.window()
    await page.context().grantPermissions(['notifications'])
    const browser = createECDH('prime256v1')
    const keys = { p256dh: browser.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') }
    await page.context().addInitScript(keys => {
      let now = null
      const one = key => ({ endpoint: 'https://push.example.org/a', keys, options: { applicationServerKey: key }, toJSON() { return { endpoint: this.endpoint, keys } }, unsubscribe: async () => { now = null; return true } })
      PushManager.prototype.getSubscription = async () => now
      PushManager.prototype.subscribe = async o => { window.subscribedWith = o.applicationServerKey.length; return now = one(o.applicationServerKey.buffer) }
    }, keys)
    await page.reload()
    await page.getByText('Alerts', { exact: true }).click()
    const box = page.getByLabel('Also when no page is open')
    await box.waitFor()
    await accessible(page, 'the menu of alerts')
    const answered = path => page.waitForResponse(r => r.request().method() === 'POST' && new URL(r.url()).pathname === path)
    const [on] = await Promise.all([answered('/push'), box.check()])
    assert.deepEqual([on.status(), await page.evaluate(() => window.subscribedWith)], [204, 65])
    const [off] = await Promise.all([answered('/push/off'), box.uncheck()])
    assert.equal(off.status(), 204)
    const forged = await page.request.post(desk.base + '/push', { data: { endpoint: 'https://push.example.org/b', keys } }) // no token of a page
    assert.equal(forged.status(), 403)
    assert.deepEqual(page.errors, [])
  },

  async 'phone: a code leads a phone in, once'(desk) {
    const port = await freePort()
    desk.env.DESKHAND_PUBLIC_URL = 'http://desk.example.org:' + port
    desk.start(['serve', '--tools', 'ask', '--http', '127.0.0.1:' + port])
    desk.servedAt(port)
    await desk.up()
    const page = await desk.window('/')
    await page.getByRole('link', { name: 'Open on a phone' }).filter({ visible: true }).click()
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor()
    await accessible(page, 'a code for the phone')
    await page.setViewportSize({ width: 320, height: 640 })
    const code = await page.getByRole('img', { name: 'QR code of the link' }).boundingBox()
    assert.ok(code.width > 200 && code.x + code.width <= 320, 'the code does not fit')
    await page.getByText('The link', { exact: true }).click()
    const link = await page.locator('details code').innerText()
    assert.match(link, new RegExp('^http://desk.example.org:' + port + '/login\\?key='))
    const phone = async () => { // reaches the server as if by the public name
      const context = await desk.browser.newContext({ viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true })
      desk.contexts.push(context)
      const its = await context.newPage()
      await its.goto(link.replace('http://desk.example.org:' + port, desk.base))
      return its
    }
    await (await phone()).getByRole('heading', { name: '0 open questions' }).waitFor()
    await (await phone()).getByText('This link was already used').waitFor()
    assert.deepEqual(page.errors, [])
  },
}
