// Sessions through the inspector's CLI. It has no session of its own: each call
// starts it anew, and it connects, asks once and prints the result as JSON.
import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import pins from './package.json' with { type: 'json' };

// It keeps settings in the home folder; here that is an empty one.
const env = { ...process.env, HOME: mkdtempSync(join(process.cwd(), 'home-')) };

// refusedCode is its exit code when a tool refuses; the result is printed all
// the same. A tool that is not in the list it does not call, and prints nothing.
const refusedCode = 5;

export function inspector(era) {
  return {
    name: `inspector ${pins.dependencies['@modelcontextprotocol/inspector']} ${era}`,
    connect: async (target) => {
      const ask = (method, ...args) => run([...where(target), '--protocol-era', era, '--method', method, ...args]);
      return {
        version: era,
        tools: async () => (await ask('tools/list', '--strict')).tools, // it judges the schemas too
        call: (name, args) => ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)),
        isUnknownTool: (error) => error.message.includes('tool_not_found'),
        prompts: async () => (await ask('prompts/list')).prompts,
        prompt: (name, args) => ask('prompts/get', '--prompt-name', name, '--prompt-args', ...pairs(args, '=')),
        resources: async () => (await ask('resources/list')).resources,
        read: (uri) => ask('resources/read', '--uri', uri),
        close: async () => {},
      };
    },
  };
}

function where(target) {
  if (!target.url) return [target.command, ...target.args];
  return ['--transport', 'http', '--server-url', target.url, '--header', ...pairs(target.headers, ': ')];
}

const pairs = (object, between) => Object.entries(object).map((pair) => pair.join(between));

function run(args) {
  return new Promise((resolve, reject) => {
    const all = ['--cli', ...args, '--format', 'json'];
    const child = execFile('node_modules/.bin/mcp-inspector', all, { env, timeout: 60_000 }, (error, stdout, stderr) => {
      if (stdout && (!error || error.code === refusedCode)) resolve(JSON.parse(stdout).result);
      else reject(new Error(`${args.join(' ')}: ${stderr || error}`));
    });
    child.stdin.end();
  });
}
