// The stories of several people over one inbox: who deals with a question, and to whom it
// goes.
import assert from 'node:assert/strict'
import { accessible, until } from './desk.mjs'

// team adds ada and bob, who is on call. A token makes each reachable.
async function team(desk) {
  for (const name of ['ada', 'bob']) {
    await desk.run('people', 'add', name)
    await desk.run('token', 'create', '--for', name, '--scope', 'answer')
  }
  await desk.run('people', 'set', 'bob', '--role', 'ops')
}

const clean = page => assert.deepEqual(page.errors, [])
const fits = async page => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than its window')
const line = page => page.locator('#routing-line')

export const stories = {
  async 'team: a question is taken, released and handed over'(desk) {
    await team(desk)
    const id = await desk.ask('Which name shall the release have?')
    const page = await desk.window('/inbox/' + id), other = await desk.window('/inbox/' + id)
    await page.getByText('With everyone since').waitFor()
    const own = page.getByRole('textbox', { name: 'Which name' })
    await own.fill('Half of a na')
    await page.getByRole('button', { name: 'Take', exact: true }).click()
    await page.getByRole('button', { name: 'Release', exact: true }).waitFor()
    await page.getByText('Taken by you until').waitFor()
    assert.equal(await own.inputValue(), 'Half of a na', 'taking a question keeps what is being typed')
    await until('focus tells what changed', () => page.evaluate(() => document.activeElement.id === 'routing-line'))
    assert.equal((await desk.request(id)).routing.taken.by, 'local')
    await other.getByText('Taken by').waitFor() // another window learns it
    await accessible(page, 'team-taken')
    await page.getByRole('button', { name: 'Release', exact: true }).click()
    await page.getByRole('button', { name: 'Take', exact: true }).waitFor()
    await page.getByText('Hand over…').click()
    await page.getByLabel('Hand over to').selectOption('bob')
    await accessible(page, 'team-hand')
    await page.getByRole('button', { name: 'Hand over', exact: true }).click()
    await page.getByText('With bob since').waitFor()
    await page.getByText('You can read it, but not answer it.').waitFor()
    assert.equal(await own.count(), 0, 'there is no form that would be refused')
    await accessible(page, 'team-reading')
    await until('the other window says it too', async () => (await line(other).textContent()).includes('With bob since'))
    await desk.run('ask', 'hand', id, 'everyone') // from a terminal
    await page.getByText('With everyone since').waitFor()
    assert.equal(await own.inputValue(), 'Half of a na', 'what was typed is there again')
    await desk.run('ask', 'take', id)
    await page.getByText('Taken by you until').waitFor()
    clean(page), clean(other)
  },

  async 'team: the same without a script, on a narrow phone'(desk) {
    await team(desk)
    const id = await desk.ask('--confirm', 'Deploy?')
    const page = await desk.window('/inbox/' + id, { javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
    await page.getByRole('button', { name: 'Take', exact: true }).click()
    await page.getByText('Taken by you until').waitFor()
    await fits(page)
    await page.getByText('Hand over…').click()
    await page.getByRole('button', { name: 'Hand over', exact: true }).click()
    await page.getByText('Choose to whom to hand the question over.').waitFor()
    await page.getByText('Hand over…').click()
    await page.getByLabel('Hand over to').selectOption('role:ops')
    await fits(page)
    await page.getByRole('button', { name: 'Hand over', exact: true }).click()
    await page.getByText('With the role ops since').waitFor()
    assert.deepEqual((await desk.request(id)).audience.roles, ['ops'])
    assert.equal(await page.getByRole('button', { name: 'Take', exact: true }).count(), 0, 'who may not answer is not offered to take it')
  },

  async 'team: alone, nothing about others is shown'(desk) {
    const id = await desk.ask('Name?')
    const page = await desk.window('/inbox/' + id)
    await page.getByRole('button', { name: 'Send answer' }).waitFor()
    assert.equal(await page.locator('#routing').count(), 0)
    clean(page)
  },
}
