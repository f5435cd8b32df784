// A search result in a conversation: one line until a person opens it, then the
// hits, with a reader and a form for another search.
'use strict';
(() => {
  const $ = selector => document.querySelector(selector);
  let query = '', filters = {}, cursor, reading;

  const element = (tag, text, more = {}) => Object.assign(document.createElement(tag), { textContent: text, dir: 'auto', ...more });
  const trouble = e => { $('#trouble').textContent = e?.message ?? ''; $('#trouble').hidden = !e; };
  const working = async f => {
    trouble();
    document.body.setAttribute('aria-busy', 'true');
    try { await f(); } catch (e) { trouble(e); } finally { document.body.removeAttribute('aria-busy'); }
  };
  // marked renders the words between stars in a snippet as strong text.
  const marked = text => {
    const p = element('p', '', { className: 'small' });
    text.split('**').forEach((part, i) => p.append(i % 2 ? element('strong', part) : part));
    return p;
  };
  const hit = h => {
    const li = element('li', '', { className: 'hit' });
    const open = element('button', h.heading || h.title || h.chunk_id, { type: 'button' });
    open.onclick = () => working(() => read(h.chunk_id, h.heading || h.title));
    const heading = document.createElement('h3');
    heading.append(open);
    li.append(element('p', h.breadcrumb, { className: 'small soft' }), heading, marked(h.snippet ?? ''));
    return li;
  };
  const show = (found, more) => {
    const hits = found.hits ?? [], list = $('#hits');
    cursor = found.next_cursor;
    list.replaceChildren(...(more ? list.children : []), ...hits.map(hit));
    const n = list.children.length;
    const words = `${n || 'No'} section${n === 1 ? '' : 's'} found` + (query ? ` for “${query}”` : '');
    $('#summary').textContent = words;
    $('#found-title').textContent = n ? words : found.hint?.message ?? words;
    $('#more').hidden = !cursor;
    $('#said').textContent = words;
    back();
  };
  const back = () => { $('#reading').hidden = true; $('#found').hidden = false; };
  const read = async (id, title) => {
    const result = await host.call(host.tools.read, { chunk_id: id });
    const doc = result.structuredContent ?? {}, parts = (doc.chunks ?? []).map(c => c.text).filter(Boolean);
    $('#reading-title').textContent = title ?? doc.title ?? id;
    $('#reading-id').textContent = id;
    const text = (result.content ?? []).map(c => c.text ?? '').join('\n\n').replace(/^--- Chunk: .* ---\n/gm, ''); // the separator lines are for models
    $('#text').textContent = (parts.length ? parts.join('\n\n') : text).trim();
    reading = doc.next;
    $('#on').hidden = !reading;
    $('#reading').hidden = false;
    $('#found').hidden = true;
    $('#reading-title').focus();
  };
  const search = async more => show(host.said(await host.call(host.tools.search, { ...filters, query, ...(more && cursor ? { cursor } : {}) })), more);

  $('#further').onclick = () => working(() => search(true));
  $('#back').onclick = back;
  $('#next').onclick = () => working(() => read(reading, $('#reading-title').textContent));
  const submit = () => {
    query = $('#q').value.trim();
    if (query) working(() => search(false));
  };
  // A frame without permission to submit forms gets no submit event.
  $('form button').onclick = e => { e.preventDefault(); submit(); };

  host.on('tool-input', ({ arguments: { query: q = '', cursor: _, limit: __, ...rest } = {} }) => {
    query = q;
    filters = rest;
    $('#q').value = q;
    $('#summary').textContent = q ? `Searching for “${q}”` : 'The documentation';
  });
  host.on('tool-result', result => result.isError ? trouble(new Error(result.content?.[0]?.text ?? 'The search failed.')) : show(host.said(result), false));
  host.on('tool-cancelled', () => { $('#summary').textContent = 'The search was cancelled'; });
  host.start('deskhand-search').catch(trouble);
})();
