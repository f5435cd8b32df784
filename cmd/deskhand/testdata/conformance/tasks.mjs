// Tasks as a TypeScript client has them: @modelcontextprotocol/ext-tasks over
// deskhand serve --http. A question is answered through the client, from the
// inbox, and after the server was killed and started again; one is cancelled;
// a result is refused to another client. One line a claim; exit 1 if one fails.
import { withTasks } from '@modelcontextprotocol/ext-tasks/client'
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const { BINARY } = process.env
const dir = mkdtempSync(join(tmpdir(), 'deskhand-tasks-'))
const env = { ...process.env, CI: '', DESKHAND_STATE: join(dir, 'state'), DESKHAND_TOKEN: '' }
const version = '2026-07-28'
const servers = new Set()

// serve starts a server and gives its address once it answers.
async function serve() {
  const server = spawn(BINARY, ['serve', '--tools', 'ask', '--http', '127.0.0.1:0', '--no-token'], { env, cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
  servers.add(server)
  for await (const line of createInterface({ input: server.stderr })) {
    const at = line.match(/http:\/\/127\.0\.0\.1:\d+/)
    if (at) {
      server.stderr.resume()
      return { server, address: at[0] + '/mcp' }
    }
  }
  throw new Error('the server has ended')
}

// port is how the package reaches a server: each request says on its own who
// asks, as 2026-07-28 has it.
function port(address, name) {
  let id = 0
  return {
    endpointId: 'deskhand', taskCapabilities: { generation: 'v2', capabilities: {} }, invalidated: false,
    onServerRequest: () => () => {}, onNotification: () => () => {}, onInvalidated: () => () => {},
    async dispatch({ method, params = {} }, { signal } = {}) {
      const _meta = {
        ...params._meta,
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientInfo': { name, version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
      }
      const answer = await fetch(address, {
        method: 'POST', signal, body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params: { ...params, _meta } }),
        headers: {
          'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': version,
          'Mcp-Method': method, ...(params.name ?? params.taskId ? { 'Mcp-Name': params.name ?? params.taskId } : {})
        }
      })
      const text = await answer.text()
      const messages = text.startsWith('{') ? [text] : text.split('\n').filter(l => l.startsWith('data: ')).map(l => l.slice(6))
      const reply = messages.map(m => JSON.parse(m)).find(m => m.id === id)
      return reply.error ? { kind: 'error', error: reply.error } : { kind: 'result', result: reply.result }
    }
  }
}

const deskhand = async (...args) => (await promisify(execFile)(BINARY, args, { env: { ...env, DESKHAND_INBOX: 'off' }, cwd: dir })).stdout
const question = { questions: [{ id: 'name', question: 'What is it called?' }] }
const answered = outcome => {
  assert.equal(outcome.status, 'completed')
  return outcome.result.structuredContent.answers[0].values[0]
}

const claims = {
  async 'a question is answered through the client'() {
    const { address } = await serve()
    const asked = []
    const session = withTasks(port(address, 'suite'), {
      onInputRequest: async request => {
        asked.push(request.params.message)
        return { action: 'accept', content: { [Object.keys(request.params.requestedSchema.properties)[0]]: 'Ann' } }
      }
    })
    const execution = await session.callTool('ask_user', question)
    assert.equal(execution.kind, 'task')
    const { outcome } = await execution.settle()
    assert.equal(answered(outcome), 'Ann')
    assert.deepEqual(asked, ['What is it called?'])
  },

  async 'an answer from the inbox ends the task'() {
    const { address } = await serve()
    const session = withTasks(port(address, 'suite'), { onInputRequest: () => new Promise(() => {}) })
    const execution = await session.callTool('ask_user', question)
    await deskhand('ask', 'answer', execution.handle.taskId.split('.')[0], 'name=Bob')
    assert.equal(answered((await withTasks(port(address, 'suite')).resumeTask(execution.serializeReference()).then(e => e.settle())).outcome), 'Bob')
  },

  async 'a task outlives its server, and is resumed by its reference'() {
    const first = await serve()
    let reference
    const execution = await withTasks(port(first.address, 'suite')).callTool('ask_user', question)
    await execution.handoff(r => { reference = JSON.parse(JSON.stringify(r)) })
    first.server.kill('SIGKILL')
    const second = await serve()
    await deskhand('ask', 'answer', reference.taskId.split('.')[0], 'name=Cid')
    const resumed = await withTasks(port(second.address, 'suite')).resumeTask(reference)
    assert.equal(answered((await resumed.settle()).outcome), 'Cid')
  },

  async 'a cancelled task is cancelled, and its question withdrawn'() {
    const { address } = await serve()
    const session = withTasks(port(address, 'suite'), { onInputRequest: () => new Promise(() => {}) })
    const execution = await session.callTool('ask_user', question)
    const id = execution.handle.taskId
    await session.cancelTask(id)
    const { outcome } = await execution.settle()
    assert.equal(outcome.status, 'cancelled')
    const left = JSON.parse(await deskhand('ask', 'list', '--json'))
    assert.ok(!left.some(r => r.id === id.split('.')[0]), 'the question is still open')
  },

  async 'a client that closes every dialog leaves the question to the inbox'() {
    const { address } = await serve()
    const execution = await withTasks(port(address, 'suite')).callTool('ask_user', question) // which cancels what it is asked
    const settled = execution.settle()
    await new Promise(done => setTimeout(done, 2500)) // longer than it takes to look, and to cancel
    await deskhand('ask', 'answer', execution.handle.taskId.split('.')[0], 'name=Dan')
    assert.equal(answered((await settled).outcome), 'Dan')
  },

  async 'the task of one client is no task for another'() {
    const { address } = await serve()
    // In other words: the server before was killed, maybe before it noted that
    // its answer had arrived, and the same question would get that answer.
    const another = { ...question, title: 'Another' }
    const execution = await withTasks(port(address, 'suite'), { onInputRequest: () => new Promise(() => {}) }).callTool('ask_user', another)
    const reply = await port(address, 'other').dispatch({ method: 'tasks/get', params: { taskId: execution.handle.taskId } })
    assert.equal(reply.error?.code, -32602)
  }
}

let failed = 0
for (const [claim, test] of Object.entries(claims)) {
  try {
    await Promise.race([test(), new Promise((_, late) => setTimeout(() => late(new Error('no end in 30 s')), 30_000).unref())])
    console.log(`ext-tasks: ${claim}: passed`)
  } catch (e) {
    failed++
    console.log(`ext-tasks: ${claim}: FAILED`, e)
  }
  for (const server of servers) server.kill('SIGKILL')
  servers.clear()
}
rmSync(dir, { recursive: true, force: true })
process.exit(failed ? 1 : 0)
