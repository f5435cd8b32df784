// Starts deskhand's HTTP server, runs the checks once for each client and
// transport, and prints a line for each. Called by run.sh.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { agents } from './agents.mjs';
import { chats } from './chats.mjs';
import { check } from './checks.mjs';
import { everything } from './everything.mjs';
import { inspector } from './inspector.mjs';
import { peer } from './peer.mjs';
import { sdk1, sdk2 } from './sdk.mjs';

const [binary, index] = process.argv.slice(2);
const token = 'token-of-the-agents-' + process.pid;
const person = { Authorization: `Bearer key-of-the-person-${process.pid}` }; // who answers, over A2A and in a chat

const env = { ...process.env, DESKHAND_TOKEN: token, DESKHAND_PERSON_KEY: person.Authorization.slice('Bearer '.length), DESKHAND_STATE: mkdtempSync(join(process.cwd(), 'state-')), DESKHAND_A2A_ENABLED: 'true' };

const server = spawn(binary, ['serve', '--index', index, '--http', '127.0.0.1:0'], {
  env,
  stdio: ['ignore', 'inherit', 'pipe'],
});
process.on('exit', () => server.kill());
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const gone = once(server, 'exit');

const targets = {
  stdio: { command: binary, args: ['serve', '--index', index], env },
  http: { url: await address(server), headers: { Authorization: `Bearer ${token}` } },
};

let failed = false;
for (const client of [sdk1, sdk2('legacy'), sdk2('auto'), inspector('legacy'), inspector('modern')]) {
  for (const [transport, target] of Object.entries(targets)) {
    try {
      console.log(`${client.name} ${transport} ok: ${await within(180, attempt(client, target))}`);
    } catch (error) {
      failed = true;
      console.log(`${client.name} ${transport} FAILED: ${error.stack ?? error}`);
    }
  }
}

try {
  console.log(`server-everything behind deskhand ok: ${await within(120, everything(binary, env))}`);
} catch (error) {
  failed = true;
  console.log(`server-everything behind deskhand FAILED: ${error.stack ?? error}`);
}

try {
  const base = targets.http.url.replace(/\/mcp$/, '');
  console.log(`a2a-js http ok: ${await within(60, agents(binary, base, person, env))}`);
} catch (error) {
  failed = true;
  console.log(`a2a-js http FAILED: ${error.stack ?? error}`);
}

try {
  console.log(`a2a-js agent ok: ${await within(180, peer(binary, env))}`);
} catch (error) {
  failed = true;
  console.log(`a2a-js agent FAILED: ${error.stack ?? error}`);
}

try {
  const base = targets.http.url.replace(/\/mcp$/, '');
  console.log(`ai and openai http ok: ${await within(60, chats(binary, base, person, env))}`);
} catch (error) {
  failed = true;
  console.log(`ai and openai http FAILED: ${error.stack ?? error}`);
}

server.kill('SIGTERM');
const [code] = await within(20, gone);
if (code !== 0) {
  failed = true;
  console.log(`server FAILED: exit code ${code} when told to stop`);
}
process.exit(failed ? 1 : 0);

async function attempt(client, target) {
  const session = await client.connect(target);
  try {
    return await check(session);
  } finally {
    await session.close();
  }
}

// address reads where the server listens from what it says on stderr, and
// passes on the rest.
async function address(server) {
  const lines = createInterface({ input: server.stderr });
  const found = new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      const url = line.match(/serving MCP at (\S+)/)?.[1];
      url ? resolve(url) : console.error(line);
    });
    lines.on('close', () => reject(new Error('the HTTP server ended before it listened')));
  });
  return within(20, found);
}

function within(seconds, promise) {
  const late = new Promise((_, reject) => {
    setTimeout(reject, seconds * 1000, new Error(`no end after ${seconds} s`)).unref();
  });
  return Promise.race([promise, late]);
}
