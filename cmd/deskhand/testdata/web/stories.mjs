// The stories. Each has a desk of its own; a story ends without an error or
// with one that says what was not so.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { accessible, until } from './desk.mjs'

const four = { title: 'Name and shape', questions: [
  { id: 'name', question: 'What is it called?', type: 'text', placeholder: '/v2/...' },
  { id: 'style', question: 'Paging?', type: 'select', options: ['Cursor', 'Offset'] },
  { id: 'breaking', question: 'May it break?', type: 'confirm' },
  { id: 'notes', question: 'Anything else?', type: 'text', required: false },
] }

async function askFour(desk) {
  const { writeFileSync } = await import('node:fs')
  const file = join(desk.dir, 'four.json')
  writeFileSync(file, JSON.stringify(four))
  return desk.ask('--questions', file, '--timeout', '20m')
}

const send = page => page.getByRole('button', { name: /^Send/ })
const clean = page => assert.deepEqual(page.errors, [])
const valueOf = (r, q) => r.answers?.[q]?.value?.value

export const stories = {
  async 'a question comes, is answered and goes'(desk) { // E-005
    const page = await desk.window()
    await page.getByText('No open questions').waitFor()
    await accessible(page, 'the empty inbox')
    const id = await askFour(desk)
    await page.getByRole('heading', { name: 'Name and shape' }).waitFor()
    assert.match(await page.title(), /^\(1\)/)
    await accessible(page, 'a form')
    const left = page.locator('.panehead').getByText('29 min left')
    assert.equal(await left.count(), 0)
    await page.getByRole('button', { name: '10 more minutes' }).click()
    await left.waitFor()
    await page.getByPlaceholder('/v2/...').fill('things')
    await page.getByLabel('Cursor').check()
    await page.getByRole('group', { name: 'May it break?' }).getByLabel('No').check()
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByText('This will be sent').waitFor()
    await accessible(page, 'the review')
    await send(page).click()
    await page.getByText('answered in the browser').waitFor()
    await accessible(page, 'an ended question')
    const r = await desk.request(id)
    assert.equal(r.completion.outcome, 'accept')
    assert.deepEqual([valueOf(r, 'name'), valueOf(r, 'style'), valueOf(r, 'breaking'), r.answers.notes.state], ['things', 'Cursor', false, 'skipped'])
    assert.doesNotMatch(await page.title(), /^\(/)
    clean(page)
  },

  async 'an answer that is needed is asked for again'(desk) {
    const id = await askFour(desk)
    const page = await desk.window('/inbox/' + id)
    await page.getByLabel('What is it called?').fill('kept')
    await send(page).click()
    const alert = page.getByRole('alert')
    await alert.getByText('Nothing was sent yet').waitFor()
    assert.equal(await alert.getByRole('link').count(), 2)
    await accessible(page, 'a form with problems')
    assert.equal(await page.getByLabel('What is it called?').inputValue(), 'kept')
    assert.equal((await desk.request(id)).status, 'open')
    clean(page)
  },

  async 'two windows and a terminal have one draft'(desk) { // E-002, E-016, E-017, E-018
    const id = await askFour(desk)
    const [a, b] = [await desk.window('/inbox/' + id), await desk.window('/inbox/' + id)]
    const terminal = desk.start(['ask', 'wait', id, '--output', 'json'])
    await a.getByLabel('What is it called?').pressSequentially('things', { delay: 15 })
    await until('the other window has it', async () => await b.getByLabel('What is it called?').inputValue() === 'things')
    await b.getByText('Being typed in another window').first().waitFor()
    await b.getByLabel('Offset').check()
    await until('the first window has it', () => a.getByLabel('Offset').isChecked())
    await b.getByLabel('What is it called?').fill('other things')
    await until('the last one to write wins', async () => await a.getByLabel('What is it called?').inputValue() === 'other things')
    await a.locator('.conflict').getByText('You had:').waitFor()
    await accessible(a, 'a form that another window has changed')
    await b.reload()
    assert.equal(await b.getByLabel('What is it called?').inputValue(), 'other things')
    await desk.run('ask', 'answer', id, 'name=by hand', 'style=Cursor', 'breaking=yes')
    for (const page of [a, b]) await page.getByText('answered on the command line').waitFor()
    assert.equal(await terminal.ended, 0)
    clean(a), clean(b)
  },

  async 'a window and the form of a terminal have one draft'(desk) {
    const id = await desk.ask('Which name?')
    const page = await desk.window('/inbox/' + id)
    const field = page.getByRole('textbox', { name: 'Which name?' })
    const terminal = desk.terminal('inbox')
    await until('the terminal lists it', () => terminal.said.includes('Which name?'))
    terminal.stdin.write('1')
    await until('the terminal opens it', () => /Enter send/.test(terminal.said))
    for (const key of 'abc') terminal.stdin.write(key)
    await until('the window has what the terminal types', async () => await field.inputValue() === 'abc')
    await page.getByText('in the terminal').first().waitFor()
    const before = terminal.said.length
    await field.pressSequentially('XYZ')
    await until('the hub has both', async () => Object.values((await desk.request(id)).answers)[0].value.value === 'abcXYZ')
    await until('the terminal follows', () => /X.*Y.*Z/s.test(terminal.said.slice(before))) // it draws what has changed
    terminal.stdin.write('\r')
    await page.getByText('answered in the terminal').waitFor()
    assert.equal(Object.values((await desk.request(id)).answers)[0].value.value, 'abcXYZ')
    clean(page)
  },

  async 'what is typed offline is sent later'(desk) {
    const id = await askFour(desk)
    const [a, b] = [await desk.window('/inbox/' + id), await desk.window('/inbox/' + id)]
    await a.context().setOffline(true)
    await a.getByLabel('What is it called?').fill('from the train')
    await a.getByText('Not connected').waitFor()
    await accessible(a, 'a form without a connection')
    await a.context().setOffline(false)
    await until('the other window has it', async () => await b.getByLabel('What is it called?').inputValue() === 'from the train')
    await a.getByText('Not connected').waitFor({ state: 'hidden' })
    await a.context().setOffline(true)
    await a.getByLabel('What is it called?').fill('mine')
    await a.getByText('Not connected').waitFor()
    await b.getByLabel('What is it called?').fill('theirs')
    await until('the hub has it', async () => valueOf(await desk.request(id), 'name') === 'theirs')
    await a.context().setOffline(false)
    await a.locator('.conflict').getByText('Their text:').waitFor() // both texts are there
    await a.locator('blockquote').getByText('theirs').waitFor()
    assert.equal(await a.getByLabel('What is it called?').inputValue(), 'mine')
    await a.getByRole('button', { name: 'Keep mine' }).click()
    await until('the other window has it', async () => await b.getByLabel('What is it called?').inputValue() === 'mine')
    await a.context().setOffline(true)
    await a.getByLabel('What is it called?').fill('mine again')
    await a.getByText('Not connected').waitFor()
    await b.getByLabel('What is it called?').fill('better')
    await until('the hub has it', async () => valueOf(await desk.request(id), 'name') === 'better')
    await a.context().setOffline(false)
    await a.getByRole('button', { name: 'Use the other' }).click()
    assert.equal(await a.getByLabel('What is it called?').inputValue(), 'better')
    await a.reload()
    assert.equal(await a.getByLabel('What is it called?').inputValue(), 'better')
    clean(b)
  },

  async 'the process that serves is killed while somebody types'(desk) {
    const id = await askFour(desk)
    const page = await desk.window('/inbox/' + id)
    desk.peer() // stands by, or comes to it when the other is gone
    const field = page.getByLabel('What is it called?')
    await field.pressSequentially('before ')
    await until('the hub has it', async () => valueOf(await desk.request(id), 'name') === 'before ')
    desk.server.kill('SIGKILL')
    await field.pressSequentially('and after', { delay: 30 })
    await until('the draft went on', async () => valueOf(await desk.request(id), 'name') === 'before and after')
    await page.getByText('Not connected').waitFor({ state: 'hidden' })
    await page.reload()
    assert.equal(await field.inputValue(), 'before and after')
    clean(page)
  },

  async 'without JavaScript'(desk) {
    const id = await askFour(desk)
    const page = await desk.window('/inbox/' + id, { javaScriptEnabled: false })
    await page.getByLabel('What is it called?').fill('plain')
    await page.getByRole('button', { name: 'Save draft' }).click()
    assert.equal(await page.getByLabel('What is it called?').inputValue(), 'plain')
    assert.equal(valueOf(await desk.request(id), 'name'), 'plain')
    await page.getByRole('button', { name: '10 more minutes' }).click()
    await page.getByLabel('Cursor').check()
    await page.getByRole('group', { name: 'May it break?' }).getByLabel('Yes').check()
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByText('This will be sent').waitFor()
    await send(page).click()
    await page.getByText('answered in the browser').waitFor()
    const r = await desk.request(id)
    assert.equal(r.completion.outcome, 'accept')
    assert.equal(Date.parse(r.deadline) - Date.parse(r.createdAt), 30 * 60000)
    for (const [button, outcome] of [['Decline', 'decline'], ['Cancel question', 'cancel']]) {
      const id = await desk.ask('Really?', '--confirm')
      await page.goto(desk.base + '/inbox/' + id)
      await page.getByRole('button', { name: button }).click()
      await page.getByText('The agent is informed in').waitFor()
      assert.equal((await until('it has ended', async () => { const r = await desk.request(id); return r.completion && r })).completion.outcome, outcome)
    }
  },

  async 'every kind of question, from left and right, on a phone'(desk) {
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(desk.dir, 'six.json'), JSON.stringify({ title: 'Shape of the endpoint', questions: [
      { id: 'text', question: 'What is it called?', type: 'text', placeholder: '/v2/...' },
      { id: 'number', question: 'How fast, in seconds?', type: 'number' },
      { id: 'integer', question: 'How many a page?', type: 'integer' },
      { id: 'boolean', question: 'May it break?', type: 'boolean' },
      { id: 'one', question: 'أي طريقة؟', type: 'single-select', options: [{ label: 'مؤشر', description: 'ثابت' }, { label: 'Offset', description: 'Simple, and slow far in' }] },
      { id: 'any', question: 'Who is told?', type: 'multi-select', options: ['Support', 'Sales'] },
    ] }))
    const id = await desk.ask('--questions', join(desk.dir, 'six.json'))
    const page = await desk.window('/inbox/' + id)
    await accessible(page, 'six kinds')
    await page.evaluate(() => { document.documentElement.dir = 'rtl' })
    await accessible(page, 'six kinds, right to left')
    for (const option of await page.locator('.option').all()) { // the words are beside the box, in either script
      const gap = await option.evaluate(el => {
        const words = document.createRange(), box = el.querySelector('input').getBoundingClientRect()
        words.selectNodeContents(el.querySelector('span'))
        return box.left - words.getBoundingClientRect().right
      })
      assert.ok(gap >= 0 && gap < 30, `${gap} pixels between an option and its box`)
    }
    const phone = await desk.window('/inbox/' + id, { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true })
    await phone.getByLabel('What is it called?').fill('things')
    await phone.getByLabel('How fast').fill('1.5')
    await phone.getByLabel('How many').fill('3')
    await phone.getByLabel('Yes').check()
    await phone.getByLabel('مؤشر').check()
    await phone.getByLabel('Sales').check()
    await accessible(phone, 'six kinds on a phone')
    await send(phone).click()
    await phone.getByText('answered in the browser').waitFor()
    const r = await desk.request(id)
    assert.deepEqual(['text', 'number', 'integer', 'boolean', 'one', 'any'].map(q => valueOf(r, q)), ['things', 1.5, 3, true, 'مؤشر', ['Sales']])
    clean(page), clean(phone)
  },

  async 'alerts, and quiet hours'(desk) {
    const page = await desk.window('/', { permissions: ['notifications'] })
    await page.addInitScript(() => {
      window.told = []
      window.bells = 0
      window.Notification = class {
        static permission = 'granted'
        static requestPermission = async () => 'granted'
        constructor(title, { body }) { window.told.push(title + ', ' + body) }
      }
      const Context = AudioContext
      window.AudioContext = class extends Context { constructor() { super(); window.bells++ } }
      Object.defineProperty(document, 'hidden', { get: () => window.away ?? false })
    })
    await page.reload()
    const bells = n => until(n + ' bells', async () => await page.evaluate(() => window.bells) === n)
    await page.getByText('Alerts').click()
    await page.getByLabel('Notify me').check()
    await page.getByLabel('Ring a bell').check()
    await bells(1) // this is how it sounds
    const panel = page.locator('#alerts > div')
    assert.ok(await panel.evaluate(el => { const at = el.getBoundingClientRect(); return el.contains(document.elementFromPoint(at.x + 20, at.bottom - 5)) })) // all of it can be seen
    await accessible(page, 'alerts')
    await desk.ask('Who looks?', '--confirm')
    await bells(2)
    assert.deepEqual(await page.evaluate(() => window.told), []) // who looks need not be told
    await page.evaluate(() => { window.away = true })
    await desk.ask('Who is away?', '--confirm')
    await bells(3)
    assert.deepEqual(await page.evaluate(() => window.told), ['Who is away?, asked by deskhand ask'])
    const clock = hours => new Date(Date.now() + hours * 3600e3).toTimeString().slice(0, 5)
    await page.getByLabel('Quiet from').fill(clock(-1))
    await page.getByLabel('Quiet to').fill(clock(1))
    await desk.ask('Who sleeps?', '--confirm')
    await until('it is said', async () => /Who sleeps/.test(await page.locator('#said').textContent()))
    await desk.ask('Fire?', '--confirm', '--priority', 'urgent')
    await bells(4) // and not 5
    assert.equal(await page.evaluate(() => window.told.at(-1)), 'Fire?, asked by deskhand ask')
    await until('urgent ones are first', async () => /Fire/.test(await page.locator('#list li').first().innerText()))
    await page.reload()
    assert.ok(await page.locator('#alert-sound').isChecked())
    clean(page)
  },

  async 'more questions than a page comes with'(desk) {
    const ids = []
    for (let i = 0; i < 120; i += 20) ids.push(...await Promise.all(Array.from({ length: 20 }, (_, n) => desk.ask(`Question ${i + n}?`, '--confirm'))))
    const page = await desk.window()
    await until('the script has fetched the rest', async () => await page.locator('#list li').count() === 120)
    assert.match(await page.title(), /^\(120\)/)
    assert.equal(await page.getByText('Show the other').count(), 0)
    await accessible(page, 'many questions')
    const [first, last] = await page.locator('#list li').evaluateAll(all => [all[0], all.at(-1)].map(li => li.dataset.id))
    await desk.run('ask', 'answer', first, '#1=yes')
    await page.getByText('119 open questions').waitFor()
    await page.locator(`li[data-id="${last}"] a`).click()
    await page.waitForURL(desk.base + '/inbox/' + last)
    const plain = await desk.window('/', { javaScriptEnabled: false })
    assert.equal(await plain.locator('#list li').count(), 100)
    await plain.getByRole('link', { name: 'Show the other 19' }).click()
    assert.equal(await plain.locator('#list li').count(), 119)
    clean(page)
  },

  async 'a stale window'(desk) {
    const id = await desk.ask('Which name?')
    const page = await desk.window('/inbox/' + id, { javaScriptEnabled: false })
    await page.getByRole('textbox', { name: 'Which name?' }).fill('too late')
    await desk.run('ask', 'answer', id, '#1=first')
    await send(page).click()
    await page.getByText('Someone else answered first').waitFor()
    await page.getByText('answered on the command line').waitFor()
    await page.getByText('too late').waitFor()
    const again = await desk.ask('Which name now?')
    const live = await desk.window('/inbox/' + again)
    await live.context().setOffline(true) // so that it does not hear of the end
    await live.getByRole('textbox', { name: 'Which name now?' }).fill('mine')
    await desk.run('ask', 'decline', again)
    await live.context().setOffline(false)
    await live.getByText('declined on the command line').waitFor()
    await live.getByText('mine').waitFor()
    await accessible(live, 'a question that somebody else ended')
  },

  async 'an end that a busy server does not show at first'(desk) {
    const id = await desk.ask('Which name?')
    const page = await desk.window('/inbox/' + id)
    let times = 0
    await page.route('**/inbox/' + id, route => [() => route.fulfill({ status: 503 }), () => route.abort()][times++]?.() ?? route.continue())
    await desk.run('ask', 'answer', id, '#1=first')
    await page.getByText('answered on the command line').waitFor()
    assert.equal(times, 3)
  },

  async 'a foreign page'(desk) {
    const id = await desk.ask('Deploy?', '--confirm')
    const page = await desk.window('/inbox/' + id)
    const { createServer } = await import('node:http')
    const evil = createServer((_, w) => w.setHeader('Content-Type', 'text/html').end(
      `<form method=post action="${desk.base}/inbox/${id}"><input name="do.act" value="send"><input name="a.q" value="yes"><button>Win</button></form>`))
    await new Promise(done => evil.listen(0, '127.0.0.1', done))
    const other = await page.context().newPage()
    await other.goto(`http://127.0.0.1:${evil.address().port}/`)
    const [response] = await Promise.all([other.waitForResponse(r => r.request().method() === 'POST'), other.getByRole('button').click()])
    evil.close()
    assert.equal(response.status(), 403)
    assert.equal((await desk.request(id)).status, 'open')
    const forged = await page.request.post(`${desk.base}/inbox/${id}`, { form: { 'do.act': 'decline' } }) // no token of a form
    assert.equal(forged.status(), 403)
    assert.equal((await desk.request(id)).status, 'open')
  },

  async 'a draft that a crash of the database lost is sent again'(desk) {
    const id = await askFour(desk)
    const page = await desk.window('/inbox/' + id)
    await page.addInitScript(() => { globalThis.EventSource = class extends EventSource { constructor(...of) { super(...of); globalThis.feed = this } } })
    await page.reload()
    let lost = true
    await page.route('**/draft', route => lost ? route.fulfill({ json: { rev: 1 } }) : route.continue())
    await page.getByLabel('What is it called?').fill('typed before the crash')
    await page.getByText('Draft saved').waitFor()
    assert.equal(valueOf(await desk.request(id), 'name'), undefined)
    lost = false
    await page.evaluate(() => { feed.dispatchEvent(new Event('reset')) })
    await until('the draft is sent again', async () => valueOf(await desk.request(id), 'name') === 'typed before the crash')
    assert.equal(await page.getByLabel('What is it called?').inputValue(), 'typed before the crash')
    clean(page)
  },

  async 'after a step back, a page shows the draft that is stored'(desk) {
    const id = await desk.ask('Why?')
    const [page, other] = [await desk.window('/inbox/' + id), await desk.window('/inbox/' + id)]
    const field = page.getByRole('textbox').first()
    await page.route('**/draft', route => route.fetch()) // the answer does not come
    await field.fill('Half')
    await until('the other window has it', async () => await other.getByRole('textbox').first().inputValue() === 'Half')
    await page.goto(desk.base + '/history')
    await page.unroute('**/draft')
    let arrive
    const slow = new Promise(done => { arrive = done })
    await page.route('**/draft', route => slow.then(() => route.continue()))
    await page.goBack()
    await page.waitForSelector('html[data-ready]', { state: 'attached' })
    assert.equal(await field.inputValue(), 'Half')
    await other.getByRole('textbox').first().fill('Half and more')
    await until('the hub has it', async () => JSON.stringify((await desk.request(id)).answers).includes('Half and more'))
    arrive()
    await until('the first window shows it', async () => await field.inputValue() === 'Half and more')
    assert.equal(await page.locator('.conflict').getByText('Changed in another window').isVisible(), false)
    await page.unroute('**/draft')
    await page.goto(desk.base + '/history')
    await other.getByRole('textbox').first().fill('All of it')
    await until('the hub has all of it', async () => JSON.stringify((await desk.request(id)).answers).includes('All of it'))
    await page.goBack()
    await page.waitForSelector('html[data-ready]', { state: 'attached' })
    await until('the stored draft wins over what the browser kept of the form', async () => await field.inputValue() === 'All of it')
    clean(other)
  },

  async 'another window writes while a draft is on its way'(desk) {
    const id = await desk.ask('Why?')
    const [a, b] = [await desk.window('/inbox/' + id), await desk.window('/inbox/' + id)]
    const has = text => until('the hub has ' + text, async () => JSON.stringify((await desk.request(id)).answers ?? '').includes(text))
    let arrive
    const slow = new Promise(done => { arrive = done })
    await b.route('**/draft', async route => {
      const response = await route.fetch()
      await slow
      await route.fulfill({ response })
    })
    await b.getByRole('textbox').first().fill('mine')
    await has('mine')
    await a.getByRole('textbox').first().fill('theirs')
    await has('theirs')
    arrive()
    await b.locator('.conflict').getByText('You had:').waitFor()
    assert.equal(await b.getByRole('textbox').first().inputValue(), 'theirs')
    await b.getByRole('button', { name: 'Restore mine' }).click()
    await has('mine')
  },

  async 'what an agent writes, and another window, is text'(desk) {
    const evil = '"><img src=x onerror="window.hit=1"><script>window.hit=1</script>[x](javascript:window.hit=1)'
    const [a, b] = [await desk.window(), await desk.window()]
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(desk.dir, 'evil.json'), JSON.stringify({ title: 'Evil', questions: [
      { id: 'q', question: evil + '?', type: 'select', options: [{ label: evil + '1', description: evil }, { label: evil + '2' }] }] }))
    const id = await desk.ask('--questions', join(desk.dir, 'evil.json'))
    for (const page of [a, b]) await page.getByLabel(evil + '1').waitFor()
    await b.getByLabel('In your own words').fill('mine')
    await until('the other window has it', async () => await a.getByLabel('In your own words').inputValue() === 'mine')
    await a.getByLabel('In your own words').fill(evil)
    await b.locator('.conflict').getByText('You had:').waitFor()
    await b.context().setOffline(true)
    await b.getByLabel('In your own words').fill('mine')
    await b.getByText('Not connected').waitFor()
    await a.getByLabel('In your own words').fill(evil + evil)
    await until('the hub has it', async () => JSON.stringify((await desk.request(id)).answers ?? '').includes('javascript:window.hit=1)' + '\\"><img'))
    await b.context().setOffline(false)
    await b.locator('blockquote').getByText(evil + evil).waitFor()
    await a.getByLabel(evil + '2').check()
    await send(a).click()
    await a.getByText('answered in the browser').waitFor()
    await a.goto(desk.base + '/history')
    await a.getByText('Evil').waitFor()
    for (const page of [a, b]) {
      assert.equal(await page.evaluate(() => window.hit), undefined)
      assert.equal(await page.locator('img, main a[href^="javascript"]').count(), 0)
    }
    clean(a)
  },

  async 'a question may be called anything'(desk) {
    const long = 'NameOfNoEnd'.repeat(9)
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(desk.dir, 'odd.json'), JSON.stringify({ title: long, questions: [
      { id: 'constructor', question: 'Which?', type: 'multi-select', options: ['toString', 'a,b', 'a'] },
      { id: '__proto__', question: 'What?', type: 'text' }, { id: '"]<b>', question: 'Why?', type: 'text' }] }))
    const id = await desk.ask('--questions', join(desk.dir, 'odd.json'))
    const [a, b] = [await desk.window('/inbox/' + id), await desk.window('/inbox/' + id)]
    await accessible(a, 'a title without a space')
    await a.getByLabel('toString').check()
    await a.getByLabel('a,b').check()
    await a.getByLabel('What?').fill('kept')
    await until('the other window has it', async () => await b.getByLabel('What?').inputValue() === 'kept' && b.getByLabel('toString').isChecked())
    await a.context().setOffline(true)
    await a.getByLabel('What?').fill('typed offline')
    await a.context().setOffline(false)
    await until('the draft arrives', async () => (await desk.request(id)).answers['__proto__']?.value.value === 'typed offline')
    await b.getByLabel('Why?').fill('because')
    await send(b).click()
    await until('it is answered', async () => (await desk.request(id)).completion)
    assert.deepEqual(Object.values((await desk.request(id)).answers).map(x => x.value.value), ['because', 'typed offline', ['toString', 'a,b']])
    clean(a)
    clean(b)
  },

  async 'the link to sign in works once'(desk) {
    const printer = desk.start(['inbox', '--web'])
    const link = await until('a link is printed', () => printer.said.match(/^http\S+\/login\?key=\S+(?=\n)/m)?.[0])
    const [a, b] = [await desk.browser.newPage(), await desk.browser.newPage()]
    await a.goto(link)
    await a.getByText('No open questions').waitFor()
    assert.equal(new URL(a.url()).origin, desk.base) // and not 127.0.0.1, where cookies go to every port
    await accessible(a, 'an inbox to sign out of')
    await a.getByRole('button', { name: 'Sign out' }).click()
    await a.getByRole('heading', { name: 'Sign in to deskhand' }).waitFor()
    await a.goto(desk.base + '/history')
    await a.getByRole('heading', { name: 'Sign in to deskhand' }).waitFor()
    await b.goto(link)
    await b.getByText('This link was already used').waitFor()
    await accessible(b, 'the page to sign in')
    const bare = await fetch(desk.at + '/', { redirect: 'manual', headers: { Accept: 'text/html' } })
    assert.deepEqual([bare.status, bare.headers.get('location')], [303, '/login?to=%2F'])
    await a.close(), await b.close()
  },

  async 'keys alone'(desk) {
    const [first, second] = [await desk.ask('Which one?', '-o', 'A', '-o', 'B'), await desk.ask('Deploy?', '--confirm')]
    const page = await desk.window()
    await page.getByRole('group', { name: 'Which one?' }).waitFor()
    await page.keyboard.press('2')
    assert.ok(await page.getByLabel('B', { exact: true }).isChecked())
    await page.keyboard.press('j')
    await page.getByRole('group', { name: 'Deploy?' }).waitFor()
    await page.keyboard.press('k')
    await until('the draft is back', () => page.getByLabel('B', { exact: true }).isChecked())
    await page.keyboard.press('Control+Enter')
    await page.getByText('answered').waitFor()
    assert.equal(valueOf(await desk.request(first), 'q') ?? Object.values((await desk.request(first)).answers)[0].value.value, 'B')
    await page.goto(desk.base + '/inbox/' + second)
    await page.keyboard.press('y')
    await page.getByText('Your answer is “Yes”').waitFor()
    await page.keyboard.press('u')
    await page.getByRole('button', { name: 'Yes' }).waitFor()
    assert.equal((await desk.request(second)).held, undefined)
    await page.keyboard.press('n')
    await page.getByText('Your answer is “No”').waitFor()
    await page.keyboard.press('Escape') // puts it aside
    await page.waitForURL(desk.base + '/')
    const r = await until('it is answered', async () => { const r = await desk.request(second); return r.status === 'completed' && r })
    assert.equal(Object.values(r.answers)[0].value.value, false)
    clean(page)
  },

  async 'a page to open'(desk) { // I-052, E-009
    const id = await desk.ask('Sign in to the tracker', '--url', 'https://tracker.example/connect?x=1')
    const page = await desk.window('/inbox/' + id)
    const connect = page.getByRole('button', { name: 'Connect' })
    assert.deepEqual([await connect.getAttribute('href'), await connect.getAttribute('target')], ['https://tracker.example/connect?x=1', '_blank'])
    await accessible(page, 'a page to open')
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByText('declined').waitFor()
    assert.equal((await desk.request(id)).completion.outcome, 'decline')
    clean(page)
  },

  async 'the link of a notification, pressed twice'(desk) {
    const { createServer } = await import('node:http')
    let message
    const hook = createServer((r, w) => { let body = ''; r.on('data', d => { body += d }); r.on('end', () => { message = JSON.parse(body); w.end() }) })
    await new Promise(done => hook.listen(0, '127.0.0.1', done))
    desk.env.DESKHAND_NOTIFY = `webhook:http://127.0.0.1:${hook.address().port}/`
    desk.server.kill()
    await desk.server.ended
    desk.server = desk.peer()
    await desk.up()
    const id = await desk.ask('Deploy?', '--confirm')
    await until('the hook was told', () => message)
    hook.close()
    const yes = message.answers.find(a => a.label === 'Yes').url
    const page = await desk.browser.newPage() // nobody has signed in here
    await page.goto(yes)
    assert.equal((await desk.request(id)).status, 'open') // to look at it answers nothing
    await accessible(page, 'the page of a link')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('answered from a notification').waitFor()
    assert.equal(Object.values((await desk.request(id)).answers)[0].value.value, true)
    const again = await fetch(message.answers.find(a => a.label === 'No').url, { method: 'POST' })
    assert.equal(again.status, 409)
    assert.match(await again.text(), /already answered/)
    await page.close()
  },

  async 'after the deadline'(desk) {
    const id = await desk.ask('Still wanted?', '--confirm', '--timeout', '1s')
    const page = await desk.window('/inbox/' + id)
    await page.getByText('You can still answer').waitFor()
    await accessible(page, 'a late question')
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('the answer is kept for the asker').waitFor()
    assert.equal((await desk.request(id)).completion.late, true)
  },

  async 'history'(desk) {
    for (const [text, answer] of [['Which colour?', 'teal'], ['Which size?', 'large']]) await desk.run('ask', 'answer', await desk.ask(text), '#1=' + answer)
    const page = await desk.window('/history')
    await page.getByRole('searchbox').fill('TEAL')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Which colour?').waitFor()
    assert.equal(await page.getByText('Which size?').count(), 0)
    for (const words of ['deskhand ask', 'answered on the command line', /^after \d+ s$/, 'teal']) await page.getByRole('listitem').getByText(words).waitFor()
    await page.getByLabel('How it ended').selectOption('declined')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Nothing contains').waitFor()
    await page.goBack()
    await accessible(page, 'the history')
    const lines = (await (await page.request.get(desk.base + '/history.jsonl?q=teal')).text()).trim().split('\n').map(l => JSON.parse(l))
    assert.deepEqual(lines.map(r => r.message), ['Which colour?'])
    clean(page)
  },
}
