// The stories of a sign-in: an agent in an attempt calls a tool that needs the
// account of a person, who gets the link in the inbox.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accessible, freePort, until } from './desk.mjs'
import { Provider } from './provider.mjs'

const agentFile = fileURLToPath(new URL('agent.mjs', import.meta.url))

// Office is a desk with a server over HTTP, an upstream, and a project for
// agents to work in.
class Office {
  static async open(desk, settings = '') {
    const o = new Office()
    o.desk = desk
    o.tracker = await Provider.open()
    const port = await freePort()
    desk.servedAt(port)
    desk.env.DESKHAND_CONFIG = join(desk.dir, 'deskhand.yaml')
    // The pages are those of the server, not of the process of each attempt.
    writeFileSync(desk.env.DESKHAND_CONFIG, `connect: {url: '${desk.at}'}\nupstreams:\n  - {name: tracker, url: '${o.tracker.base}/mcp', credential_scope: user}\ntasks: {executors: {caller: {kind: shell, command: ['${process.execPath}', '${agentFile}', tracker_issues]}}}\n${settings}`)
    o.args = ['serve', '--tools', 'ask,work', '--http', '127.0.0.1:' + port]
    await o.serve()
    for (const args of [['init', '-q'], ['-c', 'user.name=a', '-c', 'user.email=a@b.example', 'commit', '-q', '--allow-empty', '-m', 'begin']]) execFileSync('git', ['-C', desk.dir, ...args])
    await desk.run('tasks', 'project', 'add', desk.dir, '--name', 'shop')
    return o
  }

  async serve() {
    this.server = this.desk.start(this.args)
    await this.desk.up()
  }

  // begin starts an agent that calls the tool. ended has what it was told.
  async begin() {
    const task = await this.desk.run('tasks', 'add', 'Count the issues')
    const agent = this.desk.start(['tasks', 'start', task, '--executor', 'caller', '--follow'])
    return { ended: agent.ended.then(() => agent.said) }
  }

  // asked is what a person is asked, once somebody is.
  asked() {
    return until('a person is asked', async () => JSON.parse(await this.desk.run('ask', 'list', '--json')).find(r => r.trigger === 'credential_required'))
  }

  // went fails if the upstream was called more or less often, or without a token.
  went(calls) { assert.deepEqual([this.tracker.calls, this.tracker.anonymous], [calls, 0]) }
}

const press = (page, name) => page.getByRole('button', { name }).click()

// opened is the page to connect on, in the tab that a link of the inbox opens.
async function opened(page) {
  const [tab] = await Promise.all([page.context().waitForEvent('page'), press(page, 'Connect')])
  await tab.getByRole('heading', { name: 'Connect Tracker' }).waitFor()
  return tab
}

export const stories = {
  async 'a sign-in lets the call of an agent go on, once'(desk) { // I-001 I-027 I-029 I-034 I-050 I-052 I-059 I-063
    const o = await Office.open(desk)
    const page = await desk.window()
    const first = await o.begin()
    const tab = await opened(page)
    await tab.getByText('coder').waitFor()
    await tab.getByText('issues:read').waitFor()
    await accessible(tab, 'a page to connect on')
    await press(tab, 'Connect')
    await press(tab, 'Allow')
    await tab.getByRole('heading', { name: 'Tracker is connected' }).waitFor()
    await accessible(tab, 'a page after connecting')
    assert.match(await first.ended, /answered: 3 issues/)
    o.went(1)
    await page.getByText('answered in the browser').waitFor()

    // The next call asks nobody, nor does one whose token has ended meanwhile.
    o.tracker.valid.clear()
    assert.match(await (await o.begin()).ended, /answered: 3 issues/)
    o.went(2)
    assert.deepEqual([o.tracker.refreshes, o.tracker.stale], [1, 1])

    // One that cannot be renewed is asked for anew, this time in a popup.
    o.tracker.valid.clear()
    o.tracker.renews = false
    const third = await o.begin()
    const { url } = await o.asked()
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(url => {
      addEventListener('message', e => { window.told = e.data })
      window.open(url)
    }, url)])
    await press(popup, 'Connect')
    await Promise.all([popup.waitForEvent('close'), press(popup, 'Allow')])
    assert.deepEqual(await page.evaluate(() => window.told), { type: 'deskhand-connect', elicitationId: url.split('/').pop(), action: 'accept' })
    assert.match(await third.ended, /answered: 3 issues/)
    o.went(3)
    assert.deepEqual(page.errors, [])
    assert.doesNotMatch(o.server.said + await first.ended, /secret-/)
  },

  async 'a sign-in that is declined, refused there, and opened without a popup'(desk) { // I-024
    const o = await Office.open(desk)
    const page = await desk.window()
    const declined = await o.begin()
    const tab = await opened(page)
    await press(tab, 'Dismiss')
    await tab.getByText('This request has ended').waitFor()
    await accessible(tab, 'a page to connect on that was dismissed')
    assert.match(await declined.ended, /refused: Authentication required but not provided\. The user declined/)
    o.went(0)

    const refused = await o.begin()
    const { url } = await o.asked()
    await page.goto(url + '?return=/') // no tab of its own
    await press(page, 'Connect')
    await press(page, 'Refuse')
    await page.getByRole('alert').getByText('did not let you in').waitFor()
    await accessible(page, 'a page to connect on with trouble')
    await press(page, 'Connect')
    await press(page, 'Allow')
    await page.getByRole('link', { name: 'Back' }).click()
    await page.waitForURL(desk.base + '/')
    assert.match(await refused.ended, /answered: 3 issues/)
    o.went(1)
    assert.deepEqual(page.errors, [])
  },

  async 'a sign-in that comes late, at a provider that is down'(desk) { // I-026
    const o = await Office.open(desk, 'elicitation: {timeout: 3s}\n')
    const page = await desk.window()
    const agent = await o.begin()
    const { url } = await o.asked()
    await o.tracker.down()
    await page.goto(url)
    await page.getByRole('alert').getByText('annot determine where to sign in').waitFor()
    await accessible(page, 'a page to connect on while the provider is down')
    assert.match(await agent.ended, /refused: Authentication required but not provided\. The request timed out after 3s/)
    await o.tracker.up()
    await page.getByRole('link', { name: 'Try again' }).click()
    o.tracker.broken = true // and fails once more, when the person is back
    await press(page, 'Connect')
    await press(page, 'Allow')
    await page.getByRole('alert').getByText('returned no token').waitFor()
    o.tracker.broken = false
    await press(page, 'Connect')
    await press(page, 'Allow')
    await page.getByRole('heading', { name: 'Tracker is connected' }).waitFor()
    await until('the agent that had ended goes on', () => o.tracker.calls === 1)
    assert.match(await (await o.begin()).ended, /answered: 3 issues/)
    o.went(2)
    assert.deepEqual(page.errors, [])
  },

  async 'a sign-in outlives the server that led to it'(desk) { // I-003
    const o = await Office.open(desk)
    const page = await desk.window()
    const agent = await o.begin()
    await page.goto((await o.asked()).url)
    await press(page, 'Connect')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    o.server.kill('SIGKILL')
    await o.server.ended
    await Promise.all([page.waitForEvent('requestfailed'), press(page, 'Allow')])
    await o.serve()
    await until('the page is loaded again', async () => { await page.reload(); return true }) // not while the browser shows its own page of errors
    await page.getByRole('heading', { name: 'Tracker is connected' }).waitFor()
    assert.match(await agent.ended, /answered: 3 issues/)
    o.went(1)
  },
}
