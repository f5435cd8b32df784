// Tries deskhand with codex as its host and a model that is a stub: the agent
// asks, nobody sits at codex, a person answers from a terminal seconds later,
// and the agent gets the answer in the same call. Run by hand, as codex takes
// 400 MB: npm i @openai/codex somewhere, then
//
//   node codex.mjs BINARY path/to/node_modules/.bin/codex
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const [binary, codex] = process.argv.slice(2).map((path) => resolve(path));
assert.ok(codex, 'usage: node codex.mjs BINARY CODEX');
const thinks = 4000; // ms that the person takes
const home = mkdtempSync(join(tmpdir(), 'codex-'));
const state = join(home, 'state');

// The stub calls ask_user, and then says what it got.
const model = http.createServer(async (req, res) => {
  let body = '';
  for await (const piece of req) body += piece;
  if (!req.url.includes('/responses')) return res.end('{"data":[],"models":[]}');
  const { input = [], tools = [] } = JSON.parse(body);
  const results = input.filter((item) => item.type === 'function_call_output');
  const group = tools.find((tool) => tool.tools?.some((one) => one.name === 'ask_user'));
  const ask = {
    type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'ask_user', namespace: group?.name,
    arguments: JSON.stringify({ questions: [{ id: 'colour', question: 'Which colour?', type: 'select', options: ['red', 'blue'] }] }),
  };
  const said = `got ${JSON.stringify(results.map((item) => item.output))}`;
  const say = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: said }] };
  const item = group && results.length === 0 ? ask : say;
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (type, fields) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  event('response.created', { response: { id: 'resp_1' } });
  event('response.output_item.added', { output_index: 0, item });
  event('response.output_item.done', { output_index: 0, item });
  event('response.completed', { response: { id: 'resp_1', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } });
  res.end();
});

try {
  await new Promise((listens) => model.listen(0, '127.0.0.1', listens));
  mkdirSync(join(home, '.codex'));
  writeFileSync(join(home, '.codex', 'config.toml'), `
model = "stub"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:${model.address().port}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
[mcp_servers.deskhand]
command = ${JSON.stringify(binary)}
args = ["serve", "--tools", "ask", "--state", ${JSON.stringify(state)}]
env = { CI = "" }
`);
  const agent = spawn(codex, ['exec', '--json', '--skip-git-repo-check', 'ask me'],
    { cwd: home, env: { ...process.env, HOME: home, STUB_KEY: 'x' }, stdio: ['ignore', 'pipe', 'ignore'] });
  let out = '';
  agent.stdout.on('data', (piece) => { out += piece; });
  const ended = new Promise((ends) => agent.on('exit', ends));

  const deskhand = (...args) => promisify(execFile)(binary, ['ask', ...args, '--state', state]);
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  let open = [];
  for (let tries = 0; tries < 150 && open.length === 0; tries++) {
    await pause(200);
    open = JSON.parse((await deskhand('list', '--json')).stdout);
  }
  assert.equal(open.length, 1, `nothing was asked: ${out}`);
  await pause(thinks);
  await deskhand('answer', open[0].id, 'colour=blue');
  assert.equal(await ended, 0, out);

  const items = out.trim().split('\n').map((line) => JSON.parse(line).item).filter(Boolean);
  const call = items.findLast((item) => item.type === 'mcp_tool_call');
  assert.deepEqual(call.result.structured_content.answers, [{ questionId: 'colour', values: ['blue'] }], out);
  const message = items.findLast((item) => item.type === 'agent_message');
  assert.match(message.text, /blue/);
  console.log(`codex stdio ok: asked, held for ${thinks / 1000} s, answered from a terminal`);
} finally {
  model.close();
  model.closeAllConnections();
  rmSync(home, { recursive: true, force: true });
}
