// The client that the conformance suite looks at: deskhand, as an agent and a
// person use it. The suite starts it with the address of a server, which becomes
// the only upstream; then each tool that deskhand offers of it is called once,
// and whatever a person is asked meanwhile is answered.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const { BINARY, MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT } = process.env
const given = MCP_CONFORMANCE_CONTEXT ? JSON.parse(MCP_CONFORMANCE_CONTEXT) : {}
const address = process.argv.at(-1)
const sleep = ms => new Promise(done => setTimeout(done, ms))

const dir = mkdtempSync(join(tmpdir(), 'deskhand-suite-'))
const upstream = { name: 'suite', url: address, prefix: '-' }
if (scenario.startsWith('auth/')) {
  upstream.credential_scope = 'user'
  upstream.auth = { kind: 'oauth', client_id: given.client_id, client_secret: given.client_secret }
  if (scenario === 'auth/basic-cimd') upstream.auth.client_url = 'https://conformance-test.local/client-metadata.json'
}
writeFileSync(join(dir, 'deskhand.yaml'), JSON.stringify({ upstreams: [upstream] }))
const token = 'a-token-for-the-suite-alone'
const env = { ...process.env, CI: '', DESKHAND_STATE: join(dir, 'state'), DESKHAND_CONFIG: join(dir, 'deskhand.yaml'), DESKHAND_TOKEN: token }

const server = spawn(BINARY, ['serve', '--tools', 'ask'], { env, cwd: dir, stdio: ['pipe', 'pipe', 'inherit'] })
const answers = new Map()
createInterface({ input: server.stdout }).on('line', line => {
  const m = JSON.parse(line)
  answers.get(m.id)?.(m)
  answers.delete(m.id)
})
const rpc = (method, params) => new Promise(done => {
  const id = answers.size + Math.floor(performance.now() * 1000)
  answers.set(id, done)
  server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n')
})

const deskhand = async (...args) => (await promisify(execFile)(BINARY, args, { env: { ...env, DESKHAND_INBOX: 'off' }, cwd: dir })).stdout

// person answers what there is, until the end.
let end = false
async function person() {
  for (; !end; await sleep(50)) {
    const list = await deskhand('ask', 'list', '--json').catch(e => { console.log('ask list:', e.message); return '[]' })
    for (const r of JSON.parse(list)) {
      if (r.status !== 'open') continue
      if (r.mode === 'url') await signIn(r.url)
      else console.log('answered:', await deskhand('ask', 'answer', r.id).catch(e => e.stderr))
    }
  }
}

// signIn presses Connect and goes wherever that leads. What is deskhand's gets
// deskhand's token, as a browser would send its cookie.
async function signIn(page) {
  const { origin } = new URL(page)
  let body = new URLSearchParams({ act: 'connect' })
  for (let at = page, hops = 0; hops < 10; hops++) {
    const headers = new URL(at).origin === origin ? { Authorization: 'Bearer ' + token } : {}
    const r = await fetch(at, { method: body ? 'POST' : 'GET', body, headers, redirect: 'manual' })
    body = undefined
    const text = await r.text()
    const to = r.headers.get('location')
    if (!to) {
      const trouble = text.match(/role="alert">(.*?)<\/div>/s)?.[1].replace(/<[^>]*>/g, ' ')
      console.log('the page says:', trouble ?? text.match(/<h1>(.*?)<\/h1>/)?.[1])
      if (trouble) await deskhand('ask', 'decline', page.split('/').pop()).catch(() => {})
      return
    }
    at = new URL(to, at).href
  }
}

// example makes arguments that a schema takes.
function example(schema) {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  switch ([schema.type].flat()[0]) {
    case 'object': return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([k, v]) => [k, example(v)]))
    case 'array': return []
    case 'number': case 'integer': return 1
    case 'boolean': return true
    default: return 'text'
  }
}

// argumentsOf are those that the scenario wants, or any.
function argumentsOf(tool, all) {
  const wanted = given.toolCalls?.find(c => c.name === tool.name)
  if (wanted) return wanted.arguments
  if (tool.name === 'json_schema_echo') return { schema: all.find(t => t.inputSchema.$schema).inputSchema }
  return example(tool.inputSchema)
}

const people = person()
try {
  await rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'suite-driver', version: '1' } })
  server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  const own = new Set(['ask_user', 'await_answer', 'list_questions'])
  const called = new Set()
  let again = false
  for (let quiet = 0; quiet < 3;) {
    const { result } = await rpc('tools/list', {})
    const next = result.tools.find(t => !own.has(t.name) && !called.has(t.name))
    if (!next) { quiet++; await sleep(200); continue }
    const answer = await rpc('tools/call', { name: next.name, arguments: argumentsOf(next, result.tools) })
    // Who is told that the new credential is refused connects once more.
    if (next.name !== 'connect' || !answer.result?.isError || again) called.add(next.name)
    else again = true
    console.log(next.name + ':', JSON.stringify(answer.result ?? answer.error).slice(0, 500))
  }
} finally {
  end = true
  await people
  server.stdin.end()
  await new Promise(done => server.on('close', done))
  rmSync(dir, { recursive: true, force: true })
}
