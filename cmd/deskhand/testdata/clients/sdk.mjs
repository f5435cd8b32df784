// Sessions through the TypeScript SDK. Both its lines have the same calls: 1.x
// is what most clients are built with; 2.x also speaks the protocol without
// sessions (2026-07-28), if it is allowed to ask for it.
import assert from 'node:assert/strict';
import * as one from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HTTP1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as two from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import pins from './package.json' with { type: 'json' };

const self = { name: 'deskhand-clients', version: '1' };
const pinned = (name) => pins.dependencies[`@modelcontextprotocol/${name}`];

export const sdk1 = {
  name: `typescript-sdk ${pinned('sdk')}`,
  connect: (target) => {
    const dialog = {};
    const client = new one.Client(self, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => shown(dialog));
    return open(client, transport(target, Stdio1, HTTP1), '2025-11-25', dialog);
  },
};

// sdk2 is the newer line. Mode "legacy" begins with initialize as 1.x does;
// "auto" asks for the newest version first, and must get it.
export function sdk2(mode) {
  return {
    name: `typescript-client ${pinned('client')} ${mode}`,
    connect: (target) => {
      const dialog = {};
      const client = new two.Client(self, { versionNegotiation: { mode }, capabilities: { elicitation: {} } });
      client.setRequestHandler('elicitation/create', () => shown(dialog));
      const over = transport(target, Stdio2, two.StreamableHTTPClientTransport);
      return open(client, over, mode === 'auto' ? '2026-07-28' : '2025-11-25', dialog);
    },
  };
}

// shown is what the person does with a form.
async function shown(dialog) {
  await new Promise((resolve) => setTimeout(resolve, dialog.after));
  return dialog.result;
}

function transport(target, Stdio, HTTP) {
  if (!target.url) return new Stdio({ ...target, stderr: 'inherit' });
  return new HTTP(new URL(target.url), { requestInit: { headers: target.headers } });
}

// callTool puts the options where each line has them.
function callTool(client, params, options) {
  return client instanceof one.Client ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

async function open(client, transport, wanted, dialog) {
  // The one place where all of them say what was agreed.
  let version;
  const passOn = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (agreed) => {
    version = agreed;
    passOn?.(agreed);
  };
  await client.connect(transport);
  assert.equal(version, wanted, 'protocol version');
  return {
    version,
    dialog,
    tools: async () => (await client.listTools()).tools,
    call: (name, args, options) => callTool(client, { name, arguments: args }, options),
    isUnknownTool: (error) => error.code === -32602 && error.message.includes('no_such_tool'),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    resources: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
    close: async () => {
      await transport.terminateSession?.(); // DELETE, over HTTP
      await client.close();
    },
  };
}
