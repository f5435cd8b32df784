// A chat program talks with a session, through the official libraries of the AI
// SDK and of OpenAI: what the agent says, thinks and asks arrives, the answer
// lets it go on, and a stream that was cut off goes on where it was.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultChatTransport, readUIMessageStream } from 'ai';
import OpenAI from 'openai';

export async function chats(binary, base, headers, env) {
  const conversationId = session(binary, env);
  const all = { ...headers, 'x-supports-elicitation': 'true' };
  const post = (path, body, more = {}) => fetch(base + path, { method: 'POST', headers: { ...all, 'Content-Type': 'application/json', ...more }, body: JSON.stringify(body) });
  const answer = async (elicitationId, value) => {
    const response = await post('/run/api/elicitation-responses', { conversationId, elicitationId, action: 'accept', content: { answer: value } });
    assert.equal(response.status, 200, await response.text());
  };

  // The AI SDK: its transport sends, its reader makes a message of the stream.
  const transport = new DefaultChatTransport({ api: `${base}/run/api/chat`, headers: all, body: { conversationId } });
  const send = (text) => transport.sendMessages({ trigger: 'submit-message', chatId: conversationId, messageId: undefined, abortSignal: undefined,
    messages: [{ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] }] });
  let message;
  let asked = 0;
  for await (message of readUIMessageStream({ stream: await send('say first\nthink hm\nrun true\nrun false\nask Which colour?\nsay last'), terminateOnError: true })) {
    const question = message.parts.find((p) => p.type === 'data-elicitation-request');
    if (question?.data.status === 'open' && asked++ === 0) await answer(question.id, 'blue');
  }
  const texts = message.parts.filter((p) => p.type === 'text').map((p) => p.text);
  assert.deepEqual(texts, ['first', 'answer: blue', 'last']);
  assert.equal(message.parts.find((p) => p.type === 'data-elicitation-request').data.outcome, 'accept');
  assert.deepEqual(message.parts.filter((p) => p.type === 'dynamic-tool').map((p) => p.state), ['output-available', 'output-error']);
  assert.ok(message.parts.some((p) => p.type === 'reasoning' && p.text === 'hm'));

  let failed;
  for await (const _ of readUIMessageStream({ stream: await send('fail no luck'), onError: (e) => (failed = e) }));
  assert.match(String(failed), /no luck/);

  // OpenAI's, whose path is another.
  const openai = new OpenAI({ apiKey: headers.Authorization.slice('Bearer '.length), defaultHeaders: all, maxRetries: 0,
    fetch: (_, init) => fetch(`${base}/run/api/chat`, init) });
  const create = (content, stream) => openai.chat.completions.create({ model: 'fake', messages: [{ role: 'user', content }], stream, conversationId, format: 'openai' });
  let text = '';
  let reason;
  for await (const chunk of await create('say one\nthink hm\nrun true\nask Which size?\nsay two', true)) {
    const { delta, finish_reason } = chunk.choices[0];
    reason = finish_reason ?? reason;
    if (delta.content?.startsWith('{')) {
      const event = JSON.parse(delta.content);
      assert.equal(event.type, 'elicitation-request');
      await answer(event.elicitationId, 'large');
    } else text += delta.content ?? '';
  }
  assert.deepEqual([text, reason], ['one\n\nanswer: large\n\ntwo', 'stop']);
  const whole = await create('say all\nsay of it', false);
  assert.equal(whole.choices[0].message.content, 'all\n\nof it');

  // A cut, and on.
  const first = await post('/run/api/chat', { conversationId, messages: [{ role: 'user', content: 'say before\nsleep 1\nsay after' }] });
  let read = '';
  for await (const bytes of first.body.pipeThrough(new TextDecoderStream())) if ((read += bytes).includes('"before"')) break;
  const at = [...read.matchAll(/^id: (.*)$/gm)].at(-1)[1];
  const rest = await (await post('/run/api/chat', { conversationId, resume: true }, { 'Last-Event-ID': at })).text();
  assert.ok(!rest.includes('"before"') && rest.includes('"after"') && rest.trimEnd().endsWith('data: [DONE]'), rest);
  return '5 messages, 2 questions, a cut';
}

// session is one of the scripted agent, whose first run has ended.
function session(binary, env) {
  const repo = mkdtempSync(join(process.cwd(), 'repo-'));
  const run = (program, ...args) => execFileSync(program, args, { env, cwd: repo, encoding: 'utf8' }).trim();
  run('git', 'init', '-q', '-b', 'main');
  run('git', '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', 'commit', '-q', '--allow-empty', '-m', 'first');
  run(binary, 'tasks', 'project', 'add', '.', '--name', 'chats');
  const task = run(binary, 'tasks', 'add', 'Talk');
  run(binary, 'tasks', 'start', task, '--executor', 'fake', '--follow', '--prompt', 'say hello');
  return JSON.parse(run(binary, 'tasks', 'messages', task, '--json')).session_id;
}
