// What every client must see, whatever its library, transport and protocol
// version. A session has: version, tools, call, prompts, prompt, resources,
// read, isUnknownTool and close; answers are as the protocol has them.
import assert from 'node:assert/strict';

// check returns a summary of what it saw.
export async function check(session) {
  const tools = await session.tools();
  assert.deepEqual(tools.map((tool) => tool.name), ['search_docs', 'get_doc', 'list_docs']);
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

  const prompts = await session.prompts();
  const { messages } = await session.prompt(prompts[0].name, { question: 'Why a cursor?' });
  assert.match(messages[0].content.text, /Why a cursor\?/);

  const resources = await session.resources();
  const { contents } = await session.read(resources[0].uri);
  assert.equal(contents[0].mimeType, 'text/markdown');
  assert.match(contents[0].text, /^\s*# /);

  return `protocol ${session.version}, ${tools.length} tools, ${ids.length} hits on 2 pages, 2 docs, ` +
    `refusals worded, ${prompts.length} prompt, ${resources.length} resources`;
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
