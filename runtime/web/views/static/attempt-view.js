// An attempt's state in a conversation. It is updated while the attempt is running
// and the view is on the screen.
'use strict';
(() => {
  const $ = selector => document.querySelector(selector);
  const sleep = ms => new Promise(done => setTimeout(done, ms));
  const every = 3000; // milliseconds between two updates
  const mostEntries = 12;
  let id, running = false;

  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text, dir: 'auto' });
  const put = (selector, text) => { const el = $(selector); if (el.textContent !== text) el.textContent = text; el.hidden = !text; };
  const tones = { completed: 'good', failed: 'alarm', running: 'warn' };
  const stand = s => {
    put('#state', s.waiting_for_slot ? 'waiting for a free slot' : s.state ?? '');
    $('#state').className = 'chip ' + (tones[s.state] ?? '');
    put('#failure', s.failure_summary ?? '');
    const n = s.pending_questions ?? 0;
    put('#questions', n ? `${n} question${n === 1 ? ' is waiting' : 's are waiting'} for you in the inbox: ${(s.questions ?? []).map(q => q.text).join(' · ')}` : '');
    const facts = { Branch: s.workspace_branch, Agent: s.latest_session_executor, 'Last activity': s.last_activity_at && new Date(s.last_activity_at).toLocaleString(),
      Tokens: s.usage?.input_tokens ? `${s.usage.input_tokens} read, ${s.usage.output_tokens} written` : '' };
    $('#facts').replaceChildren(...Object.entries(facts).filter(([, v]) => v).flatMap(([k, v]) => [element('dt', k), element('dd', v)]));
  };
  // words returns the text of a log entry, in any version of the log. It leaves out
  // the user's messages and unknown entries.
  const words = ({ entry }) => {
    if (typeof entry?.content === 'string') return entry.content.trimEnd();
    const { entry_type: type = {}, content = '' } = entry?.content ?? {};
    if (type.type === 'user_message') return '';
    return [type.tool_name, content].filter(Boolean).join(': ');
  };
  const log = page => {
    const lines = (page?.entries ?? []).map(words).filter(Boolean);
    $('#entries').replaceChildren(...lines.map(l => element('li', l.length > 600 ? l.slice(0, 600) + ' ...' : l)));
    $('#log').hidden = !lines.length;
  };
  const changes = c => {
    const s = c.summary ?? {};
    $('#changes').hidden = !s.file_count;
    $('#changes-title').textContent = `${s.file_count} file${s.file_count === 1 ? '' : 's'} changed, +${s.added} -${s.deleted}`;
    $('#files').replaceChildren(...(c.files ?? []).slice(0, 50).map(f => element('li', f)), ...(c.truncated || (c.files ?? []).length > 50 ? [element('li', '...')] : []));
  };

  const ask = async (tool, more) => host.said(await host.call(host.tools[tool], { attempt_id: id, ...more }));
  const look = async () => {
    const s = await ask('status');
    stand(s);
    log((await ask('logs', { limit: mostEntries })).page);
    running = s.state === 'running' || s.state === 'idle' || s.waiting_for_slot;
    if (!running) changes(await ask('changes'));
    $('#trouble').hidden = true;
    $('#refresh').hidden = running;
  };
  let following = false;
  const follow = async () => {
    if (following) return;
    following = true;
    try {
      for (let failed = 0; ;) {
        await host.onScreen($('#card'));
        try { await look(); failed = 0; } catch (e) { put('#trouble', e.message); $('#refresh').hidden = false; if (++failed > 5) return; }
        if (!running && !failed) return;
        await sleep(every * 2 ** failed);
      }
    } finally { following = false; }
  };
  $('#refresh').onclick = follow;

  const begin = given => { if (!id && typeof given === 'string') { id = given; follow(); } };
  host.on('tool-input', p => begin(p.arguments?.attempt_id));
  host.on('tool-result', result => {
    if (result.isError) return put('#trouble', result.content?.[0]?.text ?? 'The call failed.');
    const said = host.said(result);
    begin(said.attempt_id);
    follow(); // a follow-up has started another run
  });
  host.start('deskhand-attempt').catch(e => put('#trouble', e.message));
})();
