// An agent in an attempt: calls one tool of the server that its environment
// names, says how that ended, and ends.
const { DESKHAND_URL, DESKHAND_TOKEN } = process.env
const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Authorization: 'Bearer ' + DESKHAND_TOKEN }
let id = 0

async function rpc(method, params, notification) {
  const r = await fetch(DESKHAND_URL, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: notification ? undefined : ++id, method, params }) })
  const session = r.headers.get('Mcp-Session-Id')
  if (session) headers['Mcp-Session-Id'] = session
  const text = await r.text()
  if (notification) return
  const data = text.startsWith('{') ? [text] : text.split('\n').filter(l => l.startsWith('data: {')).map(l => l.slice(6))
  const m = data.map(l => JSON.parse(l)).find(m => m.id === id)
  if (!m?.result) throw new Error(text)
  return m.result
}

await rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'coder', version: '1' } })
await rpc('notifications/initialized', {}, true)
const { content, isError } = await rpc('tools/call', { name: process.argv[2], arguments: {} })
console.log((isError ? 'refused: ' : 'answered: ') + content.map(c => c.text).join(' '))
