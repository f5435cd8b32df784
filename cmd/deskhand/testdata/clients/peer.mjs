// Another agent, built with the official A2A SDK, works in an attempt of
// deskhand: over JSON-RPC and HTTP+JSON of protocol 1.0, and over 0.3. What it
// wants is asked here, its files are changes of the attempt, and a follow-up
// goes on in its context.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import express from 'express';
import { Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_AUTH_REQUIRED } = TaskState;
const content = ($case, value, more = {}) => ({ content: { $case, value }, metadata: {}, filename: '', mediaType: '', ...more });
const text = (value) => content('text', value);

// scribe is what the agent does: what the first word of a message says, and if
// it has asked before, it says what it was told.
class Scribe {
  contexts = [];

  async execute({ userMessage, taskId, contextId, task }, bus) {
    const said = userMessage.parts.map((p) => (p.content.$case === 'text' ? p.content.value : '')).join('');
    const status = (state, ...parts) => ({
      state, timestamp: new Date().toISOString(),
      message: parts.length ? { messageId: crypto.randomUUID(), role: Role.ROLE_AGENT, taskId, contextId, parts, extensions: [], metadata: {}, referenceTaskIds: [] } : undefined,
    });
    const update = (...args) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(...args), metadata: {} }));
    this.contexts.push(contextId);
    bus.publish(AgentEvent.task(task ?? { id: taskId, contextId, status: status(TASK_STATE_WORKING), history: [userMessage], artifacts: [], metadata: {} }));
    if (task) {
      update(TASK_STATE_COMPLETED, text(`told: ${said}`));
    } else if (said === 'ask') {
      update(TASK_STATE_INPUT_REQUIRED, text('Which colour?'));
    } else if (said === 'login') {
      update(TASK_STATE_AUTH_REQUIRED, text('Sign in at https://id.example.com/authorize?state=1'));
    } else {
      update(TASK_STATE_WORKING, text('writing'));
      const artifact = (name, append, ...parts) => bus.publish(AgentEvent.artifactUpdate({
        taskId, contextId, append, lastChunk: append, metadata: {}, artifact: { artifactId: name, name, description: '', parts, extensions: [], metadata: {} },
      }));
      artifact('words', false, text('first half, '));
      artifact('words', true, text('second half'));
      artifact('file', false, content('raw', Buffer.from('# Notes\n'), { filename: 'docs/notes.md', mediaType: 'text/markdown' }));
      update(TASK_STATE_COMPLETED, text('written'));
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status: { state: TASK_STATE_CANCELED, timestamp: new Date().toISOString() }, metadata: {} }));
    bus.finished();
  }
}

export async function peer(binary, env) {
  const token = 'token-of-the-scribe-' + process.pid;
  const ways = { '1.0': ['JSONRPC', '/rpc', '1.0'], '1.0 HTTP+JSON': ['HTTP+JSON', '/rest', '1.0'], 0.3: ['JSONRPC', '/old', '0.3'] };
  const servers = [];
  try {
    const executors = {};
    const scribe = new Scribe();
    for (const [way, [protocolBinding, path, protocolVersion]] of Object.entries(ways)) {
      const app = express();
      app.use((req, res, next) => (req.headers.authorization === `Bearer ${token}` ? next() : res.sendStatus(401)));
      const server = app.listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      const url = `http://127.0.0.1:${server.address().port}`;
      const card = {
        name: 'scribe', description: 'Writes.', version: '1', provider: undefined, documentationUrl: '', iconUrl: '', capabilities: { streaming: true, pushNotifications: false, extensions: [] },
        supportedInterfaces: [{ url: url + path, protocolBinding, protocolVersion, tenant: '' }], securitySchemes: {}, securityRequirements: [], signatures: [],
        defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [{ id: 'write', name: 'Write', description: 'Writes.', tags: ['text'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
      };
      const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), scribe);
      const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: protocolVersion === '0.3' } };
      app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: options.legacyCompat }));
      app.use(path, protocolBinding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options));
      executors[way.toLowerCase().replace(/[^a-z0-9.]/g, '-')] = { kind: 'a2a', url, headers: { Authorization: 'Bearer ${SCRIBE_TOKEN}' } };
    }
    const state = mkdtempSync(join(process.cwd(), 'peer-'));
    const repo = mkdtempSync(join(process.cwd(), 'repo-'));
    const own = { ...env, DESKHAND_STATE: state, DESKHAND_TASKS_EXECUTORS: JSON.stringify(executors), SCRIBE_TOKEN: token };
    delete own.CI; // somebody is there
    const git = (...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: repo });
    writeFileSync(join(repo, 'README.md'), '# Repo\n');
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('commit', '-q', '-m', 'first');
    // Not the synchronous call: the agent that is waited for is in this process.
    const run = async (...args) => (await promisify(execFile)(binary, args, { cwd: repo, env: own })).stdout;
    await run('tasks', 'project', 'add', '.', '--name', 'repo');
    for (const executor of Object.keys(executors)) await attempt(run, executor, scribe);
  } finally {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  }
  return `4 runs each over ${Object.keys(ways).join(', ')}`;
}

async function attempt(run, executor, scribe) {
  const begin = async (prompt, ...more) => {
    const task = (await run('tasks', 'add', `${prompt} over ${executor}`)).trim();
    await run('tasks', 'start', task, '--executor', executor, '--prompt', prompt, ...more);
    return task;
  };
  const says = (task, words) => until(`${executor}: ${words}`, async () => (await run('tasks', 'messages', task)).includes(words));

  const writes = await begin('write', '--follow');
  const log = await run('tasks', 'logs', writes);
  for (const words of ['writing', 'first half, second half', 'written']) assert.ok(log.includes(words), `${executor}: ${log}`);
  assert.match(await run('tasks', 'diff', writes), /docs\/notes\.md/);
  await run('tasks', 'say', writes, 'write', '--follow');
  assert.equal(scribe.contexts.at(-1), scribe.contexts.at(-2), `${executor}: the follow-up is in another context`);

  const asks = await begin('ask');
  await run('ask', 'answer', await question(run, 'Which colour?'), 'answer=blue');
  await says(asks, 'told: blue');

  const login = await begin('login');
  const id = await question(run, 'Sign in at');
  assert.equal(JSON.parse(await run('ask', 'show', id, '--json')).url, 'https://id.example.com/authorize?state=1');
  await run('ask', 'answer', id);
  await says(login, 'told: The person has signed in.');
}

// question is the id of the open question that begins with words.
async function question(run, words) {
  let id;
  await until(words, async () => {
    id = JSON.parse(await run('ask', 'list', '--json')).find((r) => r.message.startsWith(words))?.id;
    return id;
  });
  return id;
}

async function until(what, so) {
  for (const end = Date.now() + 30_000; !(await so()); await new Promise((next) => setTimeout(next, 100))) {
    if (Date.now() > end) throw new Error(`${what}: it does not come`);
  }
}
