// What a real upstream, the MCP project's own server-everything, shows and does
// behind deskhand, compared with the same server asked directly: entries and
// answers have to be equal, under the prefix. The client is one of each era.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as one from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import * as two from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';

const main = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')), 'dist/index.js');
const upstream = { command: 'node', args: [main, 'stdio'], stderr: 'ignore' };
const self = { name: 'deskhand-clients', version: '1' };
const capabilities = { sampling: {}, roots: {}, elicitation: { form: {}, url: {} } };
const sampled = () => ({ role: 'assistant', model: 'stub', content: { type: 'text', text: 'sampled' } });
const roots = () => ({ roots: [{ uri: 'file:///srv/shop', name: 'shop' }] });
const elicited = (r) => (r.params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } });

async function first(target) {
  const client = new one.Client(self, { capabilities });
  client.setRequestHandler(CreateMessageRequestSchema, sampled);
  client.setRequestHandler(ListRootsRequestSchema, roots);
  client.setRequestHandler(ElicitRequestSchema, elicited);
  client.updates = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => client.updates.push(n.params.uri));
  await client.connect(new Stdio1(target));
  return client;
}

async function second(target) {
  const client = new two.Client(self, { versionNegotiation: { mode: 'auto' }, capabilities });
  client.setRequestHandler('sampling/createMessage', sampled);
  client.setRequestHandler('roots/list', roots);
  client.setRequestHandler('elicitation/create', elicited);
  await client.connect(new Stdio2(target));
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  return client;
}

// plain leaves out what deskhand adds of its own: the mark of the upstream, how
// long an answer may be kept, and who answers.
const plain = (x) => JSON.parse(JSON.stringify(x, (k, v) => {
  if (['execution', 'ttlMs', 'cacheScope', 'resultType'].includes(k)) return undefined;
  if (k !== '_meta') return typeof v === 'string' ? v.replace(/\d+:\d+:\d+ [AP]M/g, 'TIME') : v;
  const rest = Object.fromEntries(Object.entries(v).filter(([n]) => n !== 'deskhand/via' && !n.startsWith('io.modelcontextprotocol/')));
  return Object.keys(rest).length ? rest : undefined;
}));

export async function everything(binary, env) {
  const config = join(mkdtempSync(join(process.cwd(), 'everything-')), 'deskhand.yaml');
  writeFileSync(config, JSON.stringify({ inbox: 'off', upstreams: [{ name: 'up', command: ['node', main, 'stdio'] }] }));
  const target = { command: binary, args: ['serve', '--tools', 'ask', '--config', config], env, stderr: 'inherit' };
  const counts = [];
  for (const dial of [first, second]) {
    const direct = await first(upstream);
    const through = await dial(target);
    try {
      counts.push(await compare(direct, through));
    } finally {
      await direct.close();
      await through.close();
    }
  }
  return counts.join('; ');
}

async function compare(direct, through) {
  const p = 'up_';
  const said = [];
  for (const [what, list, key, prefix] of [
    ['tools', async (c) => (await c.listTools()).tools, 'name', p],
    ['prompts', async (c) => (await c.listPrompts()).prompts, 'name', p],
    ['resources', async (c) => (await c.listResources()).resources, 'uri', ''],
    ['resource templates', async (c) => (await c.listResourceTemplates()).resourceTemplates, 'uriTemplate', ''],
  ]) {
    const own = new Map((await list(through)).map((x) => [x[key], x]));
    const wanted = (await list(direct)).filter((x) => x.execution?.taskSupport !== 'required');
    assert.ok(wanted.length > 1, `${what}: the upstream lists ${wanted.length}`);
    for (const x of wanted) assert.deepEqual(plain(own.get(prefix + x[key])), plain({ ...x, [key]: prefix + x[key] }), `${what}: ${x[key]}`);
    said.push(`${wanted.length} ${what}`);
  }
  const same = async (what, ask) => assert.deepEqual(plain(await ask(through, p)), plain(await ask(direct, '')), what);
  const call = (c, name, args = {}) => c.callTool({ name, arguments: args });
  await same('prompts/get', (c, x) => c.getPrompt({ name: `${x}args-prompt`, arguments: { city: 'Bern', state: 'BE' } }));
  await same('prompts/get with a resource', (c, x) => c.getPrompt({ name: `${x}resource-prompt`, arguments: { resourceType: 'Text', resourceId: '1' } }));
  for (const { uri } of (await direct.listResources()).resources) await same(uri, (c) => c.readResource({ uri }));
  await same('a template', (c) => c.readResource({ uri: 'demo://resource/dynamic/text/3' }));
  await same('a blob', async (c) => (await c.readResource({ uri: 'demo://resource/dynamic/blob/4' })).contents.map((one) => one.uri));
  const ref = (x) => ({ type: 'ref/prompt', name: `${x}completable-prompt` });
  await same('completion', (c, x) => c.complete({ ref: ref(x), argument: { name: 'department', value: '' } }));
  await same('completion with context', (c, x) => c.complete({ ref: ref(x), argument: { name: 'name', value: '' }, context: { arguments: { department: 'Sales' } } }));
  await same('completion of a template', (c) => c.complete({ ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' }, argument: { name: 'resourceId', value: '2' } }));
  await same('links', async (c, x) => {
    const answer = await call(c, `${x}get-resource-links`, { count: 3 });
    const links = answer.content.filter((block) => block.type === 'resource_link');
    assert.equal(links.length, 3);
    return [answer, await Promise.all(links.map(async ({ uri }) => (await c.readResource({ uri })).contents[0].uri))];
  });
  await same('sampling', (c, x) => call(c, `${x}trigger-sampling-request`, { prompt: 'hi' }));
  await same('roots', (c, x) => call(c, `${x}get-roots-list`));
  await same('a form', async (c, x) => (await call(c, `${x}trigger-elicitation-request`)).content[0].text);
  await same('a link to open', async (c, x) => (await call(c, `${x}trigger-url-elicitation`, { url: 'https://example.com/', message: 'Open it', elicitationId: 'same' })).content[0].text);
  if (through.updates) {
    const uri = 'demo://resource/dynamic/text/3';
    await through.subscribeResource({ uri });
    await call(through, `${p}toggle-subscriber-updates`);
    for (const end = Date.now() + 10_000; !through.updates.includes(uri); await new Promise((next) => setTimeout(next, 50))) assert.ok(Date.now() < end, 'no update of a resource');
  }
  return said.join(', ') + ' equal';
}
