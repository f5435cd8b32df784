// What every page has for a person who has signed in: the counts in the navigation,
// a banner when the server cannot be reached, the menu of Ctrl+K, and the keys that
// the page has, by the key "?". Without this
// script, the counts are those of the load, and the links lead everywhere.
'use strict';
(() => {
  const $ = (selector, at = document) => at.querySelector(selector);

  const base = document.documentElement.dataset.base ?? ''; // path below which the pages lie, behind a proxy

  // ---- counts, and whether the server is there
  const every = 10000; // milliseconds
  const banner = () => $('#offline') ?? $('#unreached'); // a form has its own, which says what happens to the text
  let there = true, timer;
  const look = async () => {
    clearTimeout(timer);
    try {
      const response = await fetch(base + '/counts', { signal: AbortSignal.timeout(8000) });
      if (!response.ok) throw new Error(response.status);
      for (const [path, n] of Object.entries(await response.json())) {
        const badge = $(`.waits[data-path="${CSS.escape(path)}"]`);
        if (!badge) continue;
        badge.hidden = !n;
        if ($('span', badge).textContent !== String(n)) $('span', badge).textContent = n;
      }
      if (!there && banner() === $('#unreached')) banner().hidden = true;
      there = true;
    } catch {
      there = false;
      if (banner() === $('#unreached')) banner().hidden = false;
    }
    timer = setTimeout(() => { if (!document.hidden) look(); }, there ? every : 1500);
  };
  timer = setTimeout(look, every);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) look(); });
  addEventListener('offline', look);
  addEventListener('online', look);
  document.addEventListener('feed', e => { if (/requested|completed|withdrawn|expired/.test(e.detail.type)) { clearTimeout(timer); timer = setTimeout(look, 300); } });

  // The service worker shows push messages; see the inbox's menu "Alerts".
  navigator.serviceWorker?.register(base + '/static/worker.js', { scope: base + '/' }).catch(() => {}); // the page does not need it

  // ---- go to
  let dialog, field, list, at = 0, asked = 0;
  const make = () => {
    dialog = document.createElement('dialog');
    dialog.className = 'goto';
    dialog.setAttribute('aria-label', 'Go to');
    field = document.createElement('input');
    Object.assign(field, { type: 'text', placeholder: 'Go to a page, a question or a task', autocomplete: 'off' });
    for (const [name, value] of Object.entries({ role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'goto-list', 'aria-label': 'Go to' })) field.setAttribute(name, value);
    list = document.createElement('ul');
    list.id = 'goto-list';
    list.setAttribute('role', 'listbox');
    list.setAttribute('aria-label', 'Places');
    list.tabIndex = -1;
    dialog.append(field, list);
    document.body.append(dialog);
    field.addEventListener('input', find);
    field.addEventListener('keydown', e => {
      if (e.key === 'ArrowDown' || e.key === 'ArrowUp') { e.preventDefault(); mark(at + (e.key === 'ArrowDown' ? 1 : -1)); }
      else if (e.key === 'Enter') { e.preventDefault(); list.children[at]?.click(); }
    });
    dialog.addEventListener('click', e => { if (e.target === dialog) dialog.close(); });
  };
  const mark = n => {
    const all = [...list.children];
    if (!all.length) return field.removeAttribute('aria-activedescendant');
    at = Math.min(Math.max(n, 0), all.length - 1);
    all.forEach((o, i) => o.setAttribute('aria-selected', i === at));
    all[at].scrollIntoView({ block: 'nearest' });
    field.setAttribute('aria-activedescendant', all[at].id);
  };
  const places = words => {
    const own = [...document.querySelectorAll('.bar nav a')].map(a => ({ name: a.firstChild.textContent.trim(), path: a.getAttribute('href'), kind: 'page' }));
    if (own.some(p => p.path === base + '/work')) own.push({ name: 'New task', path: base + '/work?new=1#new', kind: 'action' }, { name: 'Projects', path: base + '/work/projects', kind: 'page' });
    own.push({ name: 'Open on a phone', path: base + '/phone', kind: 'page' });
    const all = own.filter(p => words.split(/\s+/).every(w => p.name.toLowerCase().includes(w.toLowerCase())));
    if (words && own.some(p => p.path === base + '/search')) all.push({ name: `Search the docs for “${words}”`, path: `${base}/search?q=${encodeURIComponent(words)}`, kind: 'search' });
    return all;
  };
  const find = async () => {
    const mine = ++asked, words = field.value.trim();
    let found = places(words);
    fill(found);
    try { found = [...found, ...(await (await fetch(base + '/find?q=' + encodeURIComponent(words))).json()).map(f => ({ ...f, path: base + f.path }))]; } catch { return; }
    if (mine === asked) fill(found);
  };
  const fill = found => {
    list.replaceChildren(...found.map((f, i) => {
      const o = document.createElement('li'), name = document.createElement('span'), kind = document.createElement('span');
      o.id = 'goto-' + i;
      o.setAttribute('role', 'option');
      name.textContent = f.name;
      name.dir = 'auto';
      kind.textContent = f.kind;
      kind.className = 'soft small';
      o.append(name, kind);
      o.addEventListener('click', () => { dialog.close(); location.assign(f.path); });
      return o;
    }));
    mark(0);
  };
  // A keyboard with another script has no j: what its key would be on a Latin one
  // counts, except where somebody types.
  addEventListener('keydown', e => {
    if (!e.isTrusted || e.isComposing || e.altKey || !/^Key[A-Z]$/.test(e.code) || !/^[^\x00-\x7f]$/u.test(e.key)) return;
    if (!e.ctrlKey && !e.metaKey && e.target.matches('textarea, select, input:not([type=radio], [type=checkbox])')) return;
    const { code, ctrlKey, metaKey, shiftKey } = e, letter = code.at(-1);
    const latin = new KeyboardEvent('keydown', { key: shiftKey ? letter : letter.toLowerCase(), code, ctrlKey, metaKey, shiftKey, bubbles: true, cancelable: true });
    if (!e.target.dispatchEvent(latin)) e.preventDefault();
    e.stopImmediatePropagation();
  }, true);

  // ---- the page's keys
  let help;
  document.addEventListener('keydown', e => {
    if (e.key !== '?' || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target.matches('textarea, select, input:not([type=radio], [type=checkbox])')) return;
    e.preventDefault();
    if (!help) {
      help = document.createElement('dialog');
      help.className = 'sheet goto keyhelp';
      help.setAttribute('aria-label', 'Keys of this page');
      help.addEventListener('click', () => help.close());
      document.body.append(help);
    }
    const title = document.createElement('h2'), close = document.createElement('p');
    title.textContent = 'Keys';
    close.innerHTML = '<kbd>Ctrl</kbd>+<kbd>K</kbd> go to · <kbd>Esc</kbd> close';
    help.replaceChildren(title, ...[...document.querySelectorAll('p.keys:not([hidden])')].map(p => { const copy = document.createElement('p'); copy.append(...p.cloneNode(true).childNodes); return copy; }), close);
    help.showModal();
  });
  document.addEventListener('keydown', e => {
    if (e.key.toLowerCase() !== 'k' || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey) return;
    e.preventDefault();
    if (!dialog) make();
    if (dialog.open) return dialog.close();
    field.value = '';
    dialog.showModal();
    find();
  });
})();
