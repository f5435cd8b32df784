// The review of an attempt's changes: lines are loaded when they come into view,
// keys move from file to file, and comments are saved while they are typed. Without
// this script, links and plain forms do the same.
'use strict';
(() => {
  const $ = (selector, at = document) => at.querySelector(selector);
  const $$ = (selector, at = document) => [...at.querySelectorAll(selector)];
  if (!$('#changes') && !$('.file')) return;
  const parsed = html => { const t = document.createElement('template'); t.innerHTML = html; for (const n of t.content.querySelectorAll('noscript')) n.remove(); return t.content; };
  const token = $('meta[name=token]').content;
  const attempt = location.pathname.match(/^.*?\/work\/attempts\/[^/]+/)[0];
  const ask = (path, more = {}) => fetch(path, { ...more, headers: { 'Deskhand-Part': '1', 'Deskhand-Token': token, ...more.headers } });

  // ---- lines
  const fetching = new Set();
  const fill = async (file, src, focus) => {
    const body = $('.body', file);
    if (fetching.has(file)) return;
    fetching.add(file);
    try {
      const response = await ask(src);
      if (!response.ok) throw new Error(response.status);
      body.replaceChildren(parsed(await response.text()));
      file.dataset.shown = src;
      mend(file);
      if (focus) $('[data-focus]', file)?.focus();
    } catch {
      for (const a of $$('.wanted a', body)) a.textContent = 'Not loaded. Retry';
    } finally { fetching.delete(file); }
  };
  const wanted = file => { const d = $('details', file); return d?.open && $('.wanted', file); };
  const seen = new IntersectionObserver(entries => {
    for (const e of entries) if (e.isIntersecting && wanted(e.target)) fill(e.target, $('details', e.target).dataset.src);
  }, { rootMargin: '600px 0px' });
  const observe = () => { for (const f of $$('.file')) { seen.unobserve(f); seen.observe(f); } };
  document.addEventListener('toggle', e => { const f = e.target.closest?.('.file'); if (f && wanted(f)) fill(f, e.target.dataset.src); }, true);

  document.addEventListener('click', e => {
    const a = e.target.closest?.('.more, .whole, .wanted a'), file = e.target.closest?.('.file');
    if (a && file && !e.ctrlKey && !e.metaKey) { e.preventDefault(); return fill(file, a.getAttribute('href')); }
    const number = e.target.closest?.('td.n[data-at]');
    if (number && file) comment(file, number, e.shiftKey);
  });

  // ---- viewed
  document.addEventListener('submit', async e => {
    const form = e.target, file = form.closest('.file');
    if (form.matches('.seenform')) {
      e.preventDefault();
      const button = e.submitter ?? $('button', form), on = button.value === 'viewed';
      const body = new URLSearchParams(new FormData(form));
      body.set('act', button.value);
      if (!(await ask(form.getAttribute('action'), { method: 'POST', body }).catch(() => ({}))).ok) return;
      mark(file, on);
    } else if (form.matches('.about')) {
      const at = form.elements.at?.value;
      if (at && e.submitter?.name !== 'see') { e.preventDefault(); begin(file, at); }
    } else if (form.matches('.comment')) {
      e.preventDefault();
      if (e.submitter?.value === 'drop') drop(form); else save(form);
    }
  });
  const mark = (file, on, fold = true) => {
    const button = $('.seenform button', file), details = $('details', file);
    button.value = on ? 'unviewed' : 'viewed';
    button.setAttribute('aria-pressed', on);
    file.classList.toggle('viewed', on);
    if (details && fold) details.open = !on;
    const all = $$('.files > .file'), seen = $('#seen');
    if (seen) seen.textContent = `${all.filter(f => f.matches('.viewed')).length} of ${all.length} viewed`;
    const link = $(`.tree a[href="#${file.id}"]`);
    link?.classList.toggle('seen', on);
  };

  // ---- comments
  const store = 'deskhand.comment.';
  const unsent = () => Object.keys(localStorage).filter(k => k.startsWith(store + attempt));
  const key = form => store + attempt + '.' + form.dataset.comment;
  const state = new WeakMap(); // form: {timer, busy, dirty}
  const fieldsOf = form => { const f = new URLSearchParams(new FormData(form)); f.set('act', 'keep'); return f; };
  const edited = form => {
    const s = state.get(form) ?? {};
    state.set(form, s);
    s.dirty = true;
    try { localStorage[key(form)] = fieldsOf(form).toString(); } catch { /* the server will soon have it */ }
    s.timer ??= setTimeout(() => save(form), 80);
  };
  const save = async form => {
    const s = state.get(form) ?? {};
    state.set(form, s);
    clearTimeout(s.timer);
    s.timer = undefined;
    if (s.busy) return;
    s.dirty = false;
    s.busy = true;
    const said = $('.saved', form);
    try {
      const response = await ask(form.getAttribute('action'), { method: 'POST', body: fieldsOf(form), signal: AbortSignal.timeout(8000) });
      const out = await response.json();
      if (response.ok) {
        form.elements.rev.value = out.rev;
        said.textContent = 'Draft saved';
        if (!s.dirty) delete localStorage[key(form)];
      } else if (out.rev && !out.sent) { // another window was faster
        const mine = form.elements.body.value;
        form.elements.rev.value = out.rev;
        form.elements.body.value = out.body;
        said.textContent = `${out.message} Your text was: ${mine}`;
        delete localStorage[key(form)];
      } else {
        said.textContent = out.message;
        delete localStorage[key(form)];
      }
    } catch {
      said.textContent = 'Not connected. Your comment is kept here.';
      s.dirty = true;
      s.timer = setTimeout(() => save(form), 1500);
    } finally {
      s.busy = false;
      if (s.dirty) s.timer ??= setTimeout(() => save(form), 80);
    }
  };
  const drop = async form => {
    const body = fieldsOf(form);
    body.set('act', 'drop');
    if (!(await ask(form.getAttribute('action'), { method: 'POST', body }).catch(() => ({}))).ok) return;
    delete localStorage[key(form)];
    const row = form.closest('tr.talk');
    form.closest('.remark').remove();
    if (row && !$('.remark', row)) row.remove();
  };
  document.addEventListener('input', e => { const form = e.target.closest?.('form.comment'); if (form) edited(form); });
  addEventListener('pagehide', () => { for (const form of $$('form.comment')) if (state.get(form)?.dirty) ask(form.getAttribute('action'), { method: 'POST', body: fieldsOf(form), keepalive: true }); });

  // begin opens a form for lines in the form used in addresses: 12, n12-15, o3.
  const begin = async (file, at) => {
    await settle();
    const src = new URL(file.dataset.shown ?? $('details', file)?.dataset.src ?? location.href, location.href);
    src.searchParams.set('at', at);
    await fill(file, src.pathname + src.search, true);
    src.searchParams.delete('at');
    file.dataset.shown = src.pathname + src.search;
  };
  let from; // the line number that was clicked last
  const comment = (file, number, range) => {
    const at = number.dataset.at, side = at[0];
    const first = range && from?.file === file && from.at[0] === side ? from.at : at;
    from = { file, at };
    begin(file, first === at ? at : `${side}${first.slice(1)}-${at.slice(1)}`);
  };
  const settle = async () => { // waits up to a second until the last input is saved
    for (const form of $$('form.comment')) if (state.get(form)?.dirty) save(form);
    for (let i = 0; i < 40 && $$('form.comment').some(f => state.get(f)?.busy); i++) await new Promise(done => setTimeout(done, 25));
  };

  // mend restores comments that this browser could not send before.
  const mend = at => {
    for (const form of $$('form.comment', at)) {
      const kept = localStorage[key(form)];
      if (!kept) continue;
      form.elements.body.value = new URLSearchParams(kept).get('body');
      edited(form);
    }
  };
  const resend = async () => {
    for (const k of unsent()) {
      if ($(`form.comment[data-comment="${CSS.escape(k.slice((store + attempt).length + 1))}"]`)) continue;
      const body = new URLSearchParams(localStorage[k]);
      body.set('token', token);
      const response = await ask(attempt + '/comments', { method: 'POST', body }).catch(() => ({}));
      if (response.ok || response.status === 409) delete localStorage[k];
    }
  };

  // follow shows what is typed in other windows.
  const follow = async () => {
    for (let seq = '', pause = 500; ;) {
      if (document.hidden) { await new Promise(done => setTimeout(done, 1000)); continue; }
      try {
        const response = await ask(`${attempt}/comments?seq=${seq}`);
        if (!response.ok) throw new Error(response.status);
        const news = await response.json(), first = seq === '';
        seq = news.seq;
        pause = 500;
        const drafts = $('#drafts');
        if (drafts) { drafts.textContent = news.drafts; $('#withcomments').hidden = !news.drafts; }
        for (const file of $$('.files > .file')) { // what somebody else has viewed stays unfolded here
          const on = news.viewed[file.dataset.path] === $('details', file).dataset.mark;
          if (on !== file.matches('.viewed')) mark(file, on, false);
        }
        const stale = new Set();
        for (const c of news.comments) {
          const form = $(`form.comment[data-comment="${CSS.escape(c.ID)}"]`), s = form && state.get(form);
          if (!form) { if (!first && !document.getElementById('c-' + c.ID)) stale.add(c.Path); continue; }
          if (c.Sent) { stale.add(c.Path); continue; }
          if (s?.dirty || s?.busy || Number(form.elements.rev.value) >= c.Rev) continue;
          form.elements.rev.value = c.Rev;
          if (form.elements.body.value !== c.Body) form.elements.body.value = c.Body;
        }
        for (const form of $$('form.comment')) if (Number(form.elements.rev.value) > 0 && !state.get(form)?.dirty && !news.comments.some(c => c.ID === form.dataset.comment)) stale.add(form.elements.path.value);
        for (const file of $$('.file')) if (stale.has(file.dataset.path) && !file.contains(document.activeElement) && !wanted(file)) fill(file, file.dataset.shown ?? $('details', file)?.dataset.src ?? location.href);
      } catch { await new Promise(done => setTimeout(done, pause = Math.min(10000, pause * 2))); }
    }
  };

  // ---- keys
  let here = -1;
  const goTo = el => { el.scrollIntoView({ block: 'start' }); };
  const toFile = by => {
    const files = $$('.files > .file');
    if (!files.length) return;
    if (here >= 0 && !files[here]) here = -1;
    here = Math.min(Math.max(here + by, 0), files.length - 1);
    for (const f of $$('.file.here')) f.classList.remove('here');
    for (const a of $$('.tree a[aria-current]')) a.removeAttribute('aria-current');
    files[here].classList.add('here');
    $(`.tree a[href="#${files[here].id}"]`)?.setAttribute('aria-current', 'true');
    goTo(files[here]);
    $('summary', files[here])?.focus({ preventScroll: true });
  };
  const toChange = by => {
    const rows = $$('.diff tr').filter(r => r.matches('.add, .del') && !r.previousElementSibling?.matches('.add, .del') && r.checkVisibility());
    const tops = rows.map(r => r.getBoundingClientRect().top);
    const next = by > 0 ? rows.find((_, i) => tops[i] > 70) : rows.findLast((_, i) => tops[i] < 50);
    if (next) scrollTo({ top: scrollY + next.getBoundingClientRect().top - 60 });
  };
  const foldAll = () => {
    const all = $$('.files details[data-path]'), open = !all.some(d => d.open);
    for (const d of all) d.open = open;
  };
  addEventListener('keydown', e => {
    if (e.defaultPrevented || e.isComposing || e.ctrlKey || e.metaKey || e.altKey || e.target.matches('textarea, select, input:not([type=checkbox])')) return;
    const file = $('.file.here');
    const act = { j: () => toFile(1), k: () => toFile(-1), n: () => toChange(1), p: () => toChange(-1), v: () => file && $('.seenform button', file).click(), x: () => { const d = file && $('details', file); if (d) d.open = !d.open; }, X: foldAll, m: () => $('#prompt')?.focus() }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  document.addEventListener('change', e => { if (e.target.matches('.looks :is(select, input)')) e.target.form.requestSubmit(); });
  // The link to the message box is of use while the box is out of sight.
  let boxed = false;
  const offer = () => { const a = $('.tobox'); if (a) a.hidden = boxed; };
  if ($('#follow')) new IntersectionObserver(([e]) => { boxed = e.isIntersecting; offer(); }).observe($('#follow'));
  let following;
  const arm = () => {
    offer();
    if ($('#keys-review')) $('#keys-review').hidden = false;
    for (const b of $$('.looks button')) b.hidden = true;
    for (const n of $$('#changes noscript, .alone noscript')) n.remove();
    observe();
    mend(document);
    if ($('.file, .remark')) following ??= resend().then(follow); // a browser has few connections to a server
  };
  document.addEventListener('changes', arm); // the board's script has replaced the changes
  arm();
  $('.alone [data-focus]')?.focus();
})();
