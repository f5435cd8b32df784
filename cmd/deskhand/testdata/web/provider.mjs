// An MCP server whose tool needs an account, and where people sign in for it. It
// is at localhost, so that to a browser it is another site than deskhand.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { freePort } from './desk.mjs'

const json = (w, status, v) => w.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(v))

export class Provider {
  static async open() {
    const p = new Provider()
    p.port = await freePort()
    p.base = 'http://localhost:' + p.port
    p.calls = 0 // that were made
    p.anonymous = 0 // without a token
    p.stale = 0 // with one that is not good
    p.refreshes = 0
    p.exchanges = 0
    p.valid = new Set()
    p.codes = new Map()
    p.renews = true
    p.broken = false
    await p.up()
    return p
  }

  up() {
    this.server = createServer(async (r, w) => {
      let body = ''
      for await (const part of r) body += part
      this.answer(r, w, new URL(r.url, this.base), body)
    })
    return new Promise(done => this.server.listen(this.port, done))
  }

  down() {
    this.server.closeAllConnections()
    return new Promise(done => this.server.close(done))
  }

  answer(r, w, at, body) {
    switch (at.pathname) {
      case '/mcp': return this.mcp(r, w, body)
      case '/.well-known/oauth-protected-resource/mcp':
        return json(w, 200, { resource: this.base + '/mcp', authorization_servers: [this.base], scopes_supported: ['issues:read'] })
      case '/.well-known/oauth-authorization-server':
        return json(w, 200, { issuer: this.base, authorization_endpoint: this.base + '/authorize', token_endpoint: this.base + '/token', registration_endpoint: this.base + '/register',
          response_types_supported: ['code'], code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['none'], authorization_response_iss_parameter_supported: true })
      case '/register': return json(w, 201, { ...JSON.parse(body), client_id: 'desk-1' })
      case '/authorize':
        return w.writeHead(200, { 'Content-Type': 'text/html' }).end(`<title>Tracker</title><h1>Let deskhand in?</h1><form action=/consent>
          ${[...at.searchParams].map(([k, v]) => `<input type=hidden name="${k}" value="${v}">`).join('')}<button name=say value=yes>Allow</button><button name=say value=no>Refuse</button></form>`)
      case '/consent': {
        const q = at.searchParams, back = new URL(q.get('redirect_uri'))
        back.searchParams.set('state', q.get('state'))
        back.searchParams.set('iss', this.base)
        const code = 'code-' + this.codes.size
        this.codes.set(code, q.get('code_challenge'))
        back.searchParams.set(...(q.get('say') === 'yes' ? ['code', code] : ['error', 'access_denied']))
        return w.writeHead(302, { Location: back }).end()
      }
      case '/token': return this.token(w, new URLSearchParams(body))
    }
    w.writeHead(404).end()
  }

  token(w, form) {
    if (this.broken) return w.writeHead(503).end()
    const refresh = form.get('grant_type') === 'refresh_token'
    const proof = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
    if (refresh ? !this.renews : this.codes.get(form.get('code')) !== proof) return json(w, 400, { error: 'invalid_grant' })
    refresh ? this.refreshes++ : this.exchanges++
    if (form.get('resource') !== this.base + '/mcp') return json(w, 400, { error: 'invalid_target' })
    const token = `secret-${this.exchanges}-${this.refreshes}`
    this.valid.add(token)
    json(w, 200, { access_token: token, token_type: 'Bearer', expires_in: 3600, refresh_token: 'secret-refresh-' + token })
  }

  mcp(r, w, body) {
    if (r.method !== 'POST') return w.writeHead(405).end()
    const { id, method, params } = JSON.parse(body)
    const says = result => json(w, 200, { jsonrpc: '2.0', id, result })
    switch (method) {
      case 'initialize':
        return says({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'tracker', version: '1' } })
      case 'tools/list': return says({ tools: [{ name: 'issues', description: 'Lists issues', inputSchema: { type: 'object' } }] })
      case 'tools/call':
        if (!this.valid.has((r.headers.authorization ?? '').replace('Bearer ', ''))) {
          r.headers.authorization ? this.stale++ : this.anonymous++
          return w.writeHead(401, { 'WWW-Authenticate': `Bearer resource_metadata="${this.base}/.well-known/oauth-protected-resource/mcp"` }).end()
        }
        this.calls++
        return says({ content: [{ type: 'text', text: '3 issues' }] })
    }
    if (id === undefined) return w.writeHead(202).end()
    json(w, 200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } })
  }
}
