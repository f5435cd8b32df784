// What every client must see, whatever its library, transport and protocol
// version. A session has: version, tools, call, prompts, prompt, resources,
// read, isUnknownTool and close; answers are as the protocol has them. One that
// shows forms has dialog too: what its person does with the next form, after how
// many milliseconds.
import assert from 'node:assert/strict';

// check returns a summary of what it saw.
export async function check(session) {
  const tools = await session.tools();
  assert.deepEqual(tools.map((tool) => tool.name), ['search_docs', 'get_doc', 'list_docs', 'ask_user', 'await_answer', 'list_questions']);
  for (const tool of tools) assert.equal(tool.inputSchema.type, 'object', tool.name);

  const first = found(await session.call('search_docs', { query: 'index', limit: 3 }));
  assert.equal(first.hits.length, 3);
  assert.equal(first.hint, null);
  const second = found(await session.call('search_docs', { query: 'index', limit: 3, cursor: first.next_cursor }));
  assert.equal(second.hits.length, 3);
  const ids = [...first.hits, ...second.hits].map((hit) => hit.chunk_id);
  assert.equal(new Set(ids).size, 6, `the pages share hits: ${ids}`);

  for (const id of [ids[0], ids[3]]) {
    const doc = text(await session.call('get_doc', { chunk_id: id }));
    assert.ok(doc.startsWith(`--- Chunk: ${id} (Chunk `), doc.slice(0, 200));
  }
  assert.match(text(await session.call('list_docs', {})), /reference/);

  const refused = await session.call('search_docs', { query: 'index', limit: 0 });
  assert.equal(refused.isError, true);
  assert.equal(refused.content[0].text, 'limit must be between 1 and 50');
  await assert.rejects(session.call('no_such_tool', {}), session.isUnknownTool);

  const asked = await ask(session);

  const prompts = await session.prompts();
  const { messages } = await session.prompt(prompts[0].name, { question: 'Why a cursor?' });
  assert.match(messages[0].content.text, /Why a cursor\?/);

  const resources = await session.resources();
  const { contents } = await session.read(resources[0].uri);
  assert.equal(contents[0].mimeType, 'text/markdown');
  assert.match(contents[0].text, /^\s*# /);

  return `protocol ${session.version}, ${tools.length} tools, ${ids.length} hits on 2 pages, 2 docs, ` +
    `refusals worded, ${asked}, ${prompts.length} prompt, ${resources.length} resources`;
}

// ask asks the person of the session, if that can show a form. Before 2026-07-28
// the call is held meanwhile: longer than the client waits in silence, so that
// it is the heartbeat every 15 seconds that holds it.
async function ask(session) {
  const bad = await session.call('ask_user', { questions: [] });
  assert.equal(bad.isError, true);
  assert.equal(bad.content[0].text, 'Validation error: questions array must have at least 1 item');
  if (!session.dialog) return 'no form to ask in';

  const held = session.version < '2026-07-28';
  session.dialog.after = held ? 20_000 : 0;
  session.dialog.result = { action: 'accept', content: { name: 'Ann', style: 'Fancy' } };
  const questions = [
    { id: 'name', question: 'What is it called?' },
    { id: 'style', question: 'Which style?', type: 'select', options: ['Plain', 'Fancy'] },
  ];
  const answer = JSON.parse(text(await session.call('ask_user', { title: 'Naming', questions },
    { timeout: 17_000, resetTimeoutOnProgress: true, onprogress: () => {} })));
  assert.deepEqual(answer, {
    answered: true, cancelled: false, timedOut: false,
    answers: [{ questionId: 'name', values: ['Ann'] }, { questionId: 'style', values: ['Fancy'] }],
  });

  session.dialog.after = 0;
  session.dialog.result = { action: 'decline' };
  const declined = await session.call('ask_user', { questions });
  assert.equal(JSON.parse(declined.content[0].text).cancelled, true);
  assert.match(declined.content[1].text, /^The person declined/);
  return held ? 'asked in a form for 20 s' : 'asked between two calls';
}

function text(result) {
  assert.ok(!result.isError, result.content[0].text);
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, 'text');
  return result.content[0].text;
}

// found reads the answer of search_docs, which is there twice: as text and as
// structured content.
function found(result) {
  const answer = JSON.parse(text(result));
  assert.deepEqual(result.structuredContent, answer);
  return answer;
}
