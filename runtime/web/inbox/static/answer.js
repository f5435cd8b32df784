// Keeps the open question live, in the inbox and on an attempt's page: it shows
// what is typed in other windows and in the terminal, and sends what is typed here.
// Without this script, the form does the same with plain posts. The server sends
// state, and this script sends actions. It dispatches two events for the page's
// other scripts: shown, when another question or a question's end is shown, and
// feed, with each change. In an MCP client's view there is no network: the script
// before this one has created a carrier, which sends the same requests to the
// server in another way.
'use strict';
const question = (() => {
  const $ = (selector, at = document) => at.querySelector(selector);
  const $$ = (selector, at = document) => [...at.querySelectorAll(selector)];
  const token = $('meta[name=token]').content;
  const client = 'web_' + [...crypto.getRandomValues(new Uint8Array(8))].map(b => b.toString(16).padStart(2, '0')).join('');
  const open = $('#open');
  const base = document.documentElement.dataset.base ?? ''; // path below which the pages lie, behind a proxy
  const carrier = globalThis.deskhandCarrier ?? {
    ready: undefined, // or a promise that is resolved when the question is there
    fetch: (path, init) => fetch(path, init),
    events: after => new EventSource(base + '/inbox/events?after=' + after),
    there: () => fetch(base + '/healthz').then(r => r.ok, () => false),
    again: () => location.reload(),
    leave: to => location.assign(to),
    mayFocus: () => true, // false in a view without focus, so that it takes no focus from the conversation
  };
  const gone = 2; // EventSource.CLOSED
  const sendEvery = globalThis.deskhandCarrier?.sendEvery ?? 60; // milliseconds between two drafts of a question while a person types
  let seq = Number(open.dataset.seq);
  let connected = true;

  const pane = () => $('#pane');
  const current = () => pane()?.dataset.id;
  const tell = (type, detail) => document.dispatchEvent(new CustomEvent(type, { detail }));
  const ask = (path, more = {}) => carrier.fetch(path, { ...more, headers: { 'Deskhand-Part': '1', 'Deskhand-Token': token, ...more.headers } });
  const post = (path, body, more = {}) => ask(path, {
    method: 'POST', body: JSON.stringify({ client, ...body }), headers: { 'Content-Type': 'application/json', Accept: 'application/json' }, ...more,
  });
  const parsed = html => { const t = document.createElement('template'); t.innerHTML = html; for (const n of t.content.querySelectorAll('noscript')) n.remove(); return t.content; };
  const say = text => { $('#said').textContent = text; };

  // ---- times
  const span = s => s < 60 ? `${Math.floor(s)} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 172800 ? `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min` : `${Math.floor(s / 86400)} days`;
  const put = (el, text) => { if (el.textContent !== text) el.textContent = text; };
  const words = {
    left: (at, el) => { put(el, at <= Date.now() ? 'late' : span((at - Date.now()) / 1000) + ' left'); el.classList.toggle('warn', at - Date.now() < 60000); },
    ago: (at, el) => { const s = (Date.now() - at) / 1000; put(el, s < 10 ? 'just now' : span(s) + ' ago'); },
    in: (at, el) => { const s = Math.ceil((at - Date.now()) / 1000); put(el, s > 0 ? `in ${s} s` : 'now'); },
    when: (at, el) => { const d = new Date(at), day = d.toDateString() === new Date().toDateString() ? {} : { day: 'numeric', month: 'short' }; put(el, d.toLocaleString([], { ...day, hour: '2-digit', minute: '2-digit' })); },
    clock: (at, el) => { if (Date.now() - at < 72e6) put(el, new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })); },
  };
  const tick = () => {
    for (const part of [open, ...$$('#list ul')]) {
      if (part.firstElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) === false) continue; // far from the visible area
      for (const name in words) for (const el of $$(`[data-${name}]`, part)) words[name](Date.parse(el.dateTime), el);
    }
  };
  setInterval(() => { if (!document.hidden) tick(); }, 1000);

  // ---- the open question
  let revision = 0;
  const show = html => {
    open.replaceChildren(parsed(html));
    begin();
  };
  const begin = () => {
    revision = Number(pane()?.dataset.rev ?? 0);
    pending.clear();
    touched.clear();
    tell('shown');
    setTimeout(tick); // needs the layout and is not urgent
    const form = $('#form');
    if (!form) return $('[data-held]') || setTimeout(goOn);
    $('#open').classList.add('live');
    form.autocomplete = 'off'; // the server and this script know what was typed; a browser that goes back would show older text
    for (const q of $$('.question', form)) { remember(q); sift(q); }
    restore();
    setTimeout(present);
  };
  // sift adds a field that hides the options without its words, where there are many.
  const sift = q => {
    const options = $$('.option', q);
    if (options.length < 12) return;
    const field = document.createElement('input');
    Object.assign(field, { type: 'search', className: 'sift', placeholder: `Search ${options.length} options`, autocomplete: 'off' });
    field.setAttribute('aria-label', 'Search the options');
    field.addEventListener('input', e => {
      e.stopPropagation(); // it is no answer
      const words = field.value.toLowerCase().split(/\s+/);
      for (const o of options) o.hidden = !words.every(w => o.textContent.toLowerCase().includes(w));
      say(`${options.filter(o => !o.hidden).length} of ${options.length} options`);
    });
    field.addEventListener('keydown', e => {
      if (e.key !== 'Enter' || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      e.stopPropagation();
      const found = options.filter(o => !o.hidden);
      if (found.length === 1) { $('input', found[0]).focus(); $('input', found[0]).click(); }
    });
    $('.options', q).before(field);
  };
  const present = () => {
    if (!document.hidden && $('#form')?.checkVisibility?.()) post(`${base}/inbox/${current()}/presented`, {}).catch(() => {});
  };
  const pageOf = id => base + '/inbox/' + id + (open.dataset.attempt ? '?do.at=attempt' : '');
  const openQuestion = async id => {
    await settle();
    const response = await ask(pageOf(id));
    if (!response.ok && response.status !== 404) return carrier.leave(pageOf(id));
    show(await response.text());
  };
  const later = []; // questions from this page's attempt that were asked while another one was open
  const goOn = () => {
    const e = !$('#form, [data-held]') && later.shift();
    if (e) openQuestion(e.id).then(() => say(`New question: ${e.heading}`), () => {});
  };
  // merge takes over what is new about a question that is still open. What is being typed
  // is kept, and so is a menu that is being used.
  const merge = (form, next) => {
    $('.panehead').replaceWith($('.panehead', next));
    const routing = $('#routing'), routed = $('#routing', next);
    if (!routed) routing?.remove();
    else if (!routing) $('.panehead').after(routed);
    else if (routing.contains(document.activeElement)) $('#routing-line').replaceChildren(...$('#routing-line', routed).childNodes);
    else routing.replaceWith(routed);
    for (const note of $$('.pane > .note:not([role=alert])', next)) if (!$$('.pane > .note').some(n => n.textContent === note.textContent)) form.before(note);
    $('button[value=extend]', form)?.toggleAttribute('hidden', !$('button[value=extend]', next));
    tick();
  };
  const reloadPane = async () => {
    const id = current(), form = $('#form');
    if (!form && $('[data-ended]')) return; // it is shown, perhaps with what was typed here
    const had = form && touched.size ? $$('.question', form).filter(q => touched.has(q.dataset.question)).map(q => [$('legend, .wording', q).textContent.replace(' (required)', ''), wordsOf(q)]) : [];
    const response = await ask(pageOf(id));
    if (response.status >= 500) throw new Error('try again'); // for example, the store is busy
    if (current() !== id || !response.ok) return;
    const html = await response.text(), next = parsed(html);
    if (form && $('#form', next)) return merge(form, next);
    show(html);
    forget(id);
    const ended = $('[data-ended]');
    const given = $$('.review dd', open).map(dd => dd.textContent);
    if (ended && had.some(([, text]) => text && !given.includes(text))) {
      const note = document.createElement('div');
      note.className = 'note';
      note.textContent = 'Your unsent text, to copy if you need it:';
      for (const [question, text] of had) if (text && !given.includes(text)) { const p = document.createElement('p'); p.textContent = question + ' ' + text; note.append(p); }
      ended.after(note);
    }
    if (ended && document.activeElement === document.body && carrier.mayFocus()) ended.focus();
  };
  // renewPane reloads one pane at a time, so that older content never replaces newer
  // content. It retries until the server answers, because the feed reports a change
  // only once.
  let renewing = Promise.resolve();
  const renewPane = () => { renewing = renewing.then(reloadPane).catch(() => { setTimeout(renewPane, 700); }); };

  // ---- drafts
  const pending = new Map(); // by question: {timer, busy, dirty, since, after}
  const touched = new Map(); // by question: when this window last changed it
  const store = 'deskhand.unsent.';
  const bare = o => Object.assign(Object.create(null), o); // a question may be called constructor or __proto__
  const unsent = id => { try { return bare(JSON.parse(localStorage[store + id] ?? '{}')); } catch { return bare(); } };
  const keep = (id, all) => { try { Object.keys(all).length ? localStorage[store + id] = JSON.stringify(all) : delete localStorage[store + id]; } catch { /* no room: the server will soon have it */ } };
  const forget = id => keep(id, {});
  const questionOf = id => $(`.question[data-question="${CSS.escape(id)}"]`);
  // In a single-choice question, free text replaces the choice and vice versa: the
  // last input counts. A second press on a choice deselects it.
  const single = el => $('input[type=radio][name^="a."]', el);
  const remember = el => { for (const c of $$('input[type=radio]', el)) c.had = c.checked; };
  const instead = (el, target) => {
    const own = $('textarea[name$="__other"]', el);
    if (!own || !single(el)) return;
    if (target === own && own.value.trim()) for (const c of $$('input[type=radio]', el)) c.checked = false;
    else if (target.type === 'radio' && target.checked && own.value.trim()) {
      const had = own.value;
      own.value = '';
      both(el, 'The choice replaces your own words:', had, ['Restore my words', () => { own.value = had; for (const c of $$('input[type=radio]', el)) c.checked = false; edited(el); own.focus(); }], ['OK', () => {}]);
    }
    remember(el);
  };
  const controls = el => $$('input, textarea', el).filter(c => c.name.startsWith('a.'));
  // fieldsOf returns what is typed and chosen, or what the server sent.
  const fieldsOf = (el, sent) => {
    const fields = bare();
    for (const c of controls(el)) {
      const name = c.name.slice(2), choice = c.type === 'radio' || c.type === 'checkbox', value = sent && !choice ? c.defaultValue : c.value;
      if (choice ? sent ? c.defaultChecked : c.checked : value !== '') (fields[name] ??= []).push(value);
    }
    return fields;
  };
  const skips = (el, sent) => $('[name="do.skip"]', el)?.[sent ? 'defaultChecked' : 'checked'] ?? false;
  const wordsOf = el => controls(el).map(c => c.type === 'radio' || c.type === 'checkbox' ? (c.checked ? c.parentElement.innerText.split('\n')[0] : '') : c.value).filter(Boolean).join(', ');
  const set = (el, fields, skip) => {
    fields = bare(fields);
    for (const c of controls(el)) {
      const texts = fields[c.name.slice(2)] ?? [];
      if (c.type === 'radio' || c.type === 'checkbox') { c.checked = texts.includes(c.value); continue; }
      const text = texts.join('\n');
      if (c.value === text) continue;
      let from = 0, at;
      if (c === document.activeElement && c.type !== 'number') {
        at = c.selectionStart;
        while (from < at && c.value[from] === text[from]) from++;
        if (from < at) at = Math.max(from, at + text.length - c.value.length);
      }
      c.value = text;
      if (at !== undefined) try { c.setSelectionRange(at, at); } catch { /* has no caret */ }
    }
    remember(el);
    const box = $('[name="do.skip"]', el);
    if (box) box.checked = skip ?? false;
    el.classList.toggle('skipped', skip ?? false);
  };
  const edited = el => {
    const id = current(), question = el.dataset.question, all = unsent(id);
    const p = pending.get(question) ?? {};
    pending.set(question, p);
    p.dirty = true;
    touched.set(question, Date.now());
    el.classList.toggle('skipped', skips(el));
    $('.typing', el).textContent = '';
    all[question] = { fields: fieldsOf(el), skip: skips(el), rev: all[question]?.rev ?? revision }; // revision of the text that is changed
    keep(id, all);
    p.since = connected ? 0 : all[question].rev || 1;
    p.timer ??= setTimeout(() => send(question), p.sent && Date.now() - p.sent < sendEvery ? sendEvery : 0);
  };
  const send = async (question, more = {}) => {
    const p = pending.get(question), el = questionOf(question), id = current();
    if (!p || !el) return;
    clearTimeout(p.timer);
    p.timer = undefined;
    if (p.busy && !more.keepalive || !p.dirty) return;
    p.dirty = false;
    p.busy = true;
    p.sent = Date.now();
    let stored = 0; // the question's revision in the response
    try {
      const response = await post(`${base}/inbox/${id}/draft`, { question, fields: fieldsOf(el), skip: skips(el), ifRev: p.since || 0 }, { ...more, signal: AbortSignal.timeout(8000) });
      const out = await response.json();
      stored = out.rev ?? 0;
      if (id !== current()) return;
      if (response.ok) {
        revision = Math.max(revision, out.rev);
        p.since = 0;
        $('#saved').textContent = 'Draft saved';
      } else if (out.error === 'stale') {
        p.since = 0;
        conflict(el, out);
      } else if (out.error === 'already_completed') {
        return renewPane();
      } else {
        $('#saved').textContent = out.error === 'invalid_answers' ? '' : out.message;
        if (response.status === 403 || response.status >= 500) return; // still unsent
      }
      const all = unsent(id);
      if (!p.dirty) delete all[question];
      else if (all[question]) all[question].rev = out.rev; // of the text that was just sent
      keep(id, all);
    } catch {
      p.dirty = true;
      p.since ||= unsent(id)[question]?.rev || 1;
      offline();
    } finally {
      p.busy = false;
      const { after } = p;
      p.after = undefined;
      if (after?.rev > stored && id === current()) theirs(after);
      if (p.dirty && connected) p.timer ??= setTimeout(() => send(question), sendEvery);
    }
  };
  const flushAll = more => { for (const question of pending.keys()) send(question, more); };
  const settle = async () => { // waits up to half a second until the last input is saved
    flushAll();
    for (let i = 0; i < 25 && [...pending.values()].some(p => p.busy || p.dirty && connected); i++) await new Promise(done => setTimeout(done, 20));
  };
  // keepTyped keeps what was typed in this window within a minute, because the database may
  // have lost it in a crash. The page sends it again when it is loaded.
  const keepTyped = () => {
    const all = unsent(current());
    for (const [question, at] of touched) {
      const el = questionOf(question);
      if (el && Date.now() - at < 60000) all[question] ??= { fields: fieldsOf(el), skip: skips(el), rev: revision };
    }
    keep(current(), all);
  };
  // restore restores drafts that this browser could not send before. The server may have
  // stored one whose response did not come before the person left the page.
  const restore = () => {
    const all = unsent(current());
    for (const [question, one] of Object.entries(all)) {
      const el = questionOf(question);
      if (!el) continue;
      if (JSON.stringify([fieldsOf(el, true), skips(el, true)]) === JSON.stringify([bare(one.fields), one.skip])) { delete all[question]; continue; } // the server has it
      set(el, one.fields, one.skip);
      pending.set(question, { dirty: true, since: one.rev || 1 });
      touched.set(question, Date.now());
      send(question);
    }
    keep(current(), all);
  };
  // both shows two versions of an answer and lets the person decide.
  const both = (el, message, text, mine, take) => {
    const box = $('.conflict', el);
    box.replaceChildren();
    const p = document.createElement('p'), quote = document.createElement('blockquote'), row = document.createElement('p');
    p.textContent = message;
    quote.textContent = text || '(nothing)';
    quote.dir = 'auto';
    for (const [label, act] of [mine, take]) {
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = label;
      b.onclick = () => { box.hidden = true; act(); };
      row.append(b);
    }
    box.append(p, quote, row);
    box.hidden = false;
  };
  const conflict = (el, out) => both(el, `Changed ${out.by} in the meantime. Their text:`, out.said,
    ['Keep mine', () => edited(el)],
    ['Use the other', () => { set(el, out.fields); forgetOne(el.dataset.question); }]);
  const forgetOne = question => { const all = unsent(current()); delete all[question]; keep(current(), all); pending.delete(question); touched.delete(question); };
  // theirs shows a draft from another window. If this window is about to send a
  // draft, it keeps its own, which is newer; if it is sending one, it first waits for
  // the response.
  const theirs = e => {
    const el = questionOf(e.question), p = pending.get(e.question);
    if (!el || p?.dirty) return;
    if (p?.busy) return void (p.after = e);
    const mine = fieldsOf(el), had = wordsOf(el), skipped = skips(el), last = touched.get(e.question) ?? 0;
    set(el, e.fields, e.skip);
    if (wordsOf(el) === had) return;
    const typing = $('.typing', el);
    typing.textContent = (e.where === 'in another window' ? 'Being typed ' : 'Being answered ') + e.where;
    clearTimeout(el.quiet);
    el.quiet = setTimeout(() => { typing.textContent = ''; }, 3000);
    if (had && Date.now() - last < 10000) {
      touched.delete(e.question);
      both(el, `Changed ${e.where}. You had:`, had, ['Restore mine', () => { set(el, mine, skipped); edited(el); }], ['OK', () => {}]);
    }
  };
  open.addEventListener('input', e => { const q = e.target.closest('.question'); if (q) { instead(q, e.target); edited(q); } });
  open.addEventListener('click', e => {
    const c = e.target, q = c.type === 'radio' && c.closest('.question');
    if (!q) return;
    if (c.had) { c.checked = false; edited(q); }
    remember(q);
  });

  // ---- sending
  // route takes, releases or hands over a question. It is no answer, so that what is being
  // typed stays.
  const route = async (form, button) => {
    const id = current(), body = new URLSearchParams(new FormData(form, button));
    body.set('do.client', client);
    await settle();
    button.disabled = true;
    try {
      const response = await ask(base + '/inbox/' + id, { method: 'POST', body, headers: { Accept: 'text/html' } });
      if (response.status === 401) return carrier.leave(base + '/login?to=' + encodeURIComponent('/inbox/' + id));
      if (id !== current()) return;
      const html = await response.text(), next = parsed(html), answers = $('#form');
      if (!answers || !$('#form', next)) return show(html);
      const alert = $('.pane > [role=alert]', next);
      document.activeElement?.blur();
      $('.pane > [role=alert]')?.remove();
      merge(answers, next);
      if (alert) answers.before(alert);
      (alert ?? $('#routing-line'))?.focus();
    } catch {
      offline();
      $('#saved').textContent = 'Not sent: deskhand does not respond. Retry in a moment.';
    } finally {
      button.disabled = false;
    }
  };
  open.addEventListener('submit', async e => {
    const form = e.target, id = current(), button = e.submitter;
    e.preventDefault();
    if (form.closest('#routing')) return route(form, button);
    for (const p of pending.values()) { clearTimeout(p.timer); p.timer = undefined; p.dirty = false; }
    const body = new URLSearchParams(new FormData(form, button));
    if (!body.get('do.act') && !body.get('do.one')) body.set('do.act', 'send');
    body.set('do.client', client);
    const note = $('#note')?.value;
    if (note !== undefined) body.set('do.note', note); // the field is in the other form
    if (button) button.disabled = true;
    try {
      const response = await ask(base + '/inbox/' + id, { method: 'POST', body, headers: { Accept: 'text/html' } });
      const html = await response.text();
      if (response.status === 401) return carrier.leave(base + '/login?to=' + encodeURIComponent('/inbox/' + id));
      show(html);
      if (response.ok) forget(id);
      const focus = $('[data-focus]', open) ?? $('#pane-title');
      focus?.focus();
      if (!$('[data-ended]') && body.get('do.act') === 'extend') say('10 more minutes');
    } catch {
      offline();
      $('#saved').textContent = 'Not sent: deskhand does not respond. Your answer is kept here; retry in a moment.';
    } finally {
      if (button) button.disabled = false;
    }
  });
  addEventListener('pagehide', () => flushAll({ keepalive: true }));

  // ---- the feed
  let source, heard = Date.now();
  let wakeful = false; // the window alerts the person even when it is hidden
  let probing;
  const offline = () => {
    connected = false;
    $('#offline').hidden = false;
    if ($('#saved')?.textContent === 'Draft saved' && [...pending.values()].some(p => p.dirty)) $('#saved').textContent = '';
    probing ??= setTimeout(async () => {
      probing = undefined;
      const there = await carrier.there();
      if (!there) return offline();
      if (source.readyState === gone) connect();
      online();
    }, 700);
  };
  const online = () => {
    heard = Date.now();
    $('#offline').hidden = true;
    if ($('#saved')?.textContent.startsWith('Not sent')) $('#saved').textContent = '';
    if (connected) return;
    connected = true;
    flushAll();
    const id = current();
    if (id) for (const q of Object.keys(unsent(id))) if (!pending.get(q)?.busy) { pending.set(q, { dirty: true, since: unsent(id)[q].rev || 1 }); send(q); }
  };
  const connect = () => {
    source?.close();
    source = carrier.events(seq);
    source.onopen = online;
    source.onerror = () => { offline(); if (source.readyState === gone) setTimeout(connect, 1000); };
    source.onmessage = m => { heard = Date.now(); seq = Number(m.lastEventId); take(JSON.parse(m.data)); };
    source.addEventListener('beat', () => { heard = Date.now(); });
    source.addEventListener('reset', () => { keepTyped(); carrier.again(); });
  };
  const take = e => {
    const mine = e.client === client, here = e.id === current();
    if (here) revision = Math.max(revision, e.rev ?? 0);
    switch (e.type) {
      case 'answerChanged':
        if (here && !mine) theirs(e);
        break;
      case 'presented': case 'collected': case 'answerRedacted':
        return;
      case 'requested':
        if (e.attempt && e.attempt === open.dataset.attempt) { later.push(e); goOn(); }
        break;
      default:
        if (here && (!mine || $('[data-held]') && e.type !== 'held')) renewPane();
    }
    tell('feed', e);
  };
  setInterval(() => { if (Date.now() - heard > 40000 && !document.hidden) connect(); }, 10000);
  // A browser allows few connections to one server, so a hidden window without
  // alerts closes its connection after a minute.
  let resting;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(resting);
    if (!document.hidden) { tick(); if (source?.readyState === gone) connect(); present(); }
    else resting = setTimeout(() => { if (!wakeful) source?.close(); }, 60000);
  });

  // ---- keys
  const answering = () => document.activeElement?.closest?.('.question') ?? $$('.question').find(q => !wordsOf(q) && !skips(q)) ?? $('.question');
  const press = (q, n) => { const one = $$('.ones button', q)[n]; if (one) { one.click(); return true; } const c = controls(q).filter(c => (c.type === 'radio' || c.type === 'checkbox') && !c.closest('[hidden]'))[n]; if (c) { c.focus(); c.click(); } return !!c; };
  const inField = e => e.target.matches('textarea, select, input:not([type=radio], [type=checkbox])');
  document.addEventListener('keydown', e => {
    const form = $('#form');
    if (e.key === 'u' && $('#undo') && !e.ctrlKey && !e.metaKey && !e.altKey && !inField(e)) { e.preventDefault(); return $('#undo button').click(); }
    if (!form || e.isComposing) return;
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      if (open.dataset.attempt && !open.contains(e.target)) return; // the key is for another form
      e.preventDefault();
      const send = $('button[value=send]', form);
      return send && form.requestSubmit(send);
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const q = answering();
    if (e.key === 'Enter' && e.target.form === form && e.target.tagName === 'INPUT' && $$('.question').length > 1) {
      e.preventDefault(); // in a form with several questions, Enter moves to the next
      const rest = $$('.question'), next = rest[rest.indexOf(q) + 1];
      return (next ? controls(next)[0] : $('button[value=send]', form)).focus();
    }
    if (e.key === ' ' && e.target.matches('a[role=button]')) { e.preventDefault(); return e.target.click(); }
    if (!q || inField(e)) return;
    const take = () => e.preventDefault();
    if (/^[1-9]$/.test(e.key)) { if (press(q, e.key - 1)) take(); }
    else if ((e.key === 'y' || e.key === 'n') && $('input[value=yes], button[value="=yes"]', q)) { take(); press(q, e.key === 'y' ? 0 : 1); }
    else if (e.key === '/') { const own = $('textarea, input:not([type=radio], [type=checkbox], .sift)', q); if (own) { take(); own.focus(); } }
  });

  document.addEventListener('DOMContentLoaded', async () => { // the page's other scripts have run
    if (carrier.ready) { await carrier.ready; seq = Number(open.dataset.seq); }
    begin();
    if (carrier.mayFocus()) $('[data-focus]')?.focus();
    connect();
    document.documentElement.dataset.ready = '1';
  });
  return { $, $$, ask, base, current, inField, openQuestion, parsed, put, say, settle, stayAwake: on => { wakeful = on; } };
})();
