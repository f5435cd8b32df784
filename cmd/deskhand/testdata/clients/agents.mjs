// Another agent, built with the official A2A SDK, asks a person through
// deskhand: over the protocol of the card (1.0), and over 0.3 as older clients
// do. Each check prints what it found.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { LegacyJsonRpcTransport } from '@a2a-js/sdk/compat/v0_3/client';
import { Role, TaskState } from '@a2a-js/sdk';

export async function agents(binary, base, headers, env) {
  const withToken = (url, init = {}) => fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } });
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl: withToken })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl: withToken }),
  });
  const client = await factory.createFromUrl(base);
  const card = await client.getAgentCard();
  assert.equal(card.skills[0].id, 'ask-a-person');

  const answer = (id, value) => execFileSync(binary, ['ask', 'answer', id, `answer=${value}`], { env });
  const ask = (text, taskId = '') => ({
    message: { messageId: crypto.randomUUID(), role: Role.ROLE_USER, taskId, contextId: '', parts: [part(text)], extensions: [], referenceTaskIds: [] },
    metadata: {},
  });

  // The client answers its own question.
  const first = await client.sendMessage(ask('Which colour?'));
  assert.equal(first.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  const second = await client.sendMessage(ask('blue', first.id));
  assert.equal(second.status.state, TaskState.TASK_STATE_COMPLETED);
  assert.match(JSON.stringify(second.artifacts), /blue/);

  // A person answers while the client subscribes.
  const third = await client.sendMessage(ask('And which size?'));
  const states = [];
  for await (const event of client.resubscribeTask({ tenant: '', id: third.id })) {
    states.push(event.payload?.$case ?? event.kind);
    if (states.length === 1) answer(elicitation(third), 'large');
  }
  assert.deepEqual(states, ['task', 'artifactUpdate', 'statusUpdate']);
  const got = await client.getTask({ tenant: '', id: third.id });
  assert.match(JSON.stringify(got.artifacts), /large/);

  // A question is taken back.
  const fourth = await client.sendMessage(ask('Never mind?'));
  assert.equal((await client.cancelTask({ tenant: '', id: fourth.id, metadata: {} })).status.state, TaskState.TASK_STATE_CANCELED);

  // The old protocol.
  const old = new LegacyJsonRpcTransport({ endpoint: `${base}/a2a/v03`, fetchImpl: withToken });
  const fifth = await old.sendMessage(ask('Old?'));
  assert.equal(fifth.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  assert.equal((await old.sendMessage(ask('yes', fifth.id))).status.state, TaskState.TASK_STATE_COMPLETED);
  return '5 tasks, 1.0 and 0.3';
}

const part = (text) => ({ content: { $case: 'text', value: text }, metadata: {}, filename: '', mediaType: '' });

// elicitation is the id of what a task asks, which its data part has.
function elicitation(task) {
  for (const p of task.status.message.parts) {
    if (p.content.$case === 'data') return p.content.value.elicitationId;
  }
  throw new Error('the task has no data part: ' + JSON.stringify(task));
}
