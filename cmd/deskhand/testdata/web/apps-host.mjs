// A host of views, in a page: the reference classes of @modelcontextprotocol/ext-apps
// between an MCP client and an iframe. The story bundles this for the browser.
import { AppBridge, PostMessageTransport, getToolUiResourceUri, isToolVisibilityAppOnly, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge'
import { EXTENSION_ID } from '@modelcontextprotocol/ext-apps/server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const me = { name: 'reference-host', version: '1' }
let client, tools

globalThis.connect = async ({ views = true, form = false } = {}) => {
  const capabilities = { ...(views ? { extensions: { [EXTENSION_ID]: { mimeTypes: [RESOURCE_MIME_TYPE] } } } : {}), ...(form ? { elicitation: { form: {} } } : {}) }
  client = new Client(me, { capabilities })
  globalThis.dialogs = 0
  if (form) client.setRequestHandler('elicitation/create', async () => { globalThis.dialogs++; return { action: 'decline' } })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location.href)))
  tools = (await client.listTools()).tools
  return JSON.parse(JSON.stringify(tools.map(t => ({ name: t.name, view: getToolUiResourceUri(t), onlyViews: isToolVisibilityAppOnly(t) }))))
}

// asModel calls a tool as a host does for its model that keeps nothing apart: the
// model sees content and structuredContent.
globalThis.asModel = async (name, args) => {
  try {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args })
    return JSON.parse(JSON.stringify({ content, structuredContent, isError }))
  } catch (e) {
    return { error: e.message }
  }
}
globalThis.readAsModel = async uri => (await client.readResource({ uri })).contents[0].text

// call makes the call of a model and shows its view. The result comes later, in
// calls[n].result. Kinds of hosts: one carries the calls of a view "one by one",
// one is "bare" and passes no _meta on, one shows a view "afterwards".
globalThis.calls = []
globalThis.call = async (name, args, hostContext = {}, kind = '') => {
  const one = { log: [], result: undefined, error: undefined, sizes: [] }
  calls.push(one)
  const made = client.callTool({ name, arguments: args }, { timeout: 120000 })
  if (kind === 'afterwards') await made
  const uri = getToolUiResourceUri(tools.find(t => t.name === name))
  const { contents: [page] } = await client.readResource({ uri })
  if (page.mimeType !== RESOURCE_MIME_TYPE) throw new Error('type ' + page.mimeType)

  const frame = document.createElement('iframe')
  frame.id = 'view' + (calls.length - 1)
  frame.title = 'view'
  frame.sandbox = 'allow-scripts allow-same-origin'
  frame.style = 'border:0;width:100%;height:100px'
  document.body.append(frame)
  const ready = new Promise(done => addEventListener('message', function listen(e) {
    if (e.source === frame.contentWindow && e.data?.method === 'ui/notifications/sandbox-proxy-ready') { removeEventListener('message', listen); done() }
  }))
  frame.src = `http://127.0.0.1:${sandboxPort}/?csp=` + encodeURIComponent(JSON.stringify(page._meta?.ui?.csp))
  await ready

  const bridge = new AppBridge(client, me, { openLinks: {}, serverTools: {}, serverResources: {} }, { hostContext })
  one.bridge = bridge
  bridge.onsizechange = ({ height }) => { one.sizes.push(height); frame.style.height = height + 'px' }
  const begun = new Promise(done => { bridge.oninitialized = done })
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
  let queue = Promise.resolve()
  bridge.oncalltool = async params => {
    one.log.push(params.arguments?.do ?? params.name)
    const carried = kind === 'one by one' ? queue = queue.then(() => client.callTool(params), () => client.callTool(params)) : client.callTool(params)
    const { _meta, ...result } = await carried
    return kind === 'bare' ? result : { ...result, _meta }
  }
  await bridge.sendSandboxResourceReady({ html: page.text, csp: page._meta?.ui?.csp })
  await begun
  frame.scrollIntoView()
  document.querySelector('#chat').focus() // the person goes on typing
  bridge.sendToolInput({ arguments: args })
  made.then(result => { one.result = result; bridge.sendToolResult(result) }, e => { one.error = e.message; bridge.sendToolCancelled({ reason: e.message }) })
  return calls.length - 1
}
globalThis.context = (n, more) => calls[n].bridge.setHostContext(more)
globalThis.teardown = async n => { await calls[n].bridge.teardownResource({}); document.getElementById('view' + n).remove() }
globalThis.resultOf = n => { const { result, error } = calls[n]; return result || error ? { result, error } : undefined }
document.documentElement.dataset.ready = '1'
