// Keeps the inbox live: the list next to the open question follows the feed.
// Without this script, the page does the same with links.
'use strict';
(() => {
  const { $, $$, ask, base, current, inField, openQuestion, parsed, put, say, settle, stayAwake } = question;
  const list = $('#list'), filter = $('#filter'), title = document.title.replace(/^\(\d+\) /, '');

  // ---- the list
  const cardOf = id => $(`li[data-id="${CSS.escape(id)}"]`, list);
  const count = () => {
    const n = filtered() ? Number($('[data-open]', list)?.dataset.open ?? 0) : $$('li.card', list).length + Number($('[data-rest]', list)?.dataset.rest ?? 0); // including questions without a card
    list.classList.toggle('dense', n >= 9);
    for (const g of $$('.group', list)) put($('.n', g), String($$('li.card', g).length));
    if (n >= 9) filter.hidden = false;
    put($('#count'), n === 1 ? '1 open question' : n + ' open questions');
    document.title = (n ? `(${n}) ` : '') + title;
  };
  // ---- groups: those that were folded stay so while the window is open
  const folded = new Set(JSON.parse(sessionStorage['deskhand.folded'] ?? '[]'));
  const fold = () => { for (const g of $$('.group', list)) if (folded.has(g.dataset.group)) g.open = false; };
  list.addEventListener('toggle', e => {
    const g = e.target;
    if (!g.matches('.group') || !g.isConnected) return;
    folded[g.open ? 'delete' : 'add'](g.dataset.group);
    sessionStorage['deskhand.folded'] = JSON.stringify([...folded]);
  }, true);
  // ---- the filter: the server applies it, also without this script
  const query = () => new URLSearchParams([...new FormData(filter)].filter(([, text]) => text.trim())).toString();
  const filtered = () => query() !== '';
  const known = { place: new Set(), asker: new Set(), kind: new Set() };
  const menus = () => { // a menu grows with what is asked; what was answered stays in it
    for (const name in known) {
      const menu = $('#f-' + name);
      for (const o of $$('option[value=""] ~ option', menu)) known[name].add(o.value);
      for (const c of $$('li.card', list)) known[name].add(c.dataset[name]);
      const names = [...known[name]].sort(), had = $$('option[value=""] ~ option', menu);
      if (names.length === had.length) continue;
      const value = menu.value;
      for (const o of had) o.remove();
      for (const n of names) menu.append(new Option(n, n));
      menu.value = value;
    }
  };
  let filtering;
  const refilter = () => {
    clearTimeout(filtering);
    filtering = setTimeout(() => inTurn(async () => {
      const to = '/' + (filtered() ? '?' + query() : '');
      if (location.pathname === '/') history.replaceState({}, '', to);
      $('#f-none').hidden = !filtered();
      await reloadList();
    }), 120);
  };
  filter.addEventListener('input', refilter);
  filter.addEventListener('submit', e => { e.preventDefault(); refilter(); });
  $('#f-none').addEventListener('click', e => {
    e.preventDefault();
    for (const c of $$('input, select', filter)) c.value = '';
    refilter();
    $('#f-q').focus();
  });
  const choose = () => {
    for (const a of $$('a[aria-current]', list)) a.removeAttribute('aria-current');
    const id = current(), card = id && cardOf(id);
    if (card) $('a', card).setAttribute('aria-current', 'true');
    return card;
  };
  const drop = card => {
    const ul = card.parentElement, group = card.closest('.group');
    if (card.contains(document.activeElement)) ($('a', card.nextElementSibling ?? card.previousElementSibling ?? document.body) ?? $('#main')).focus();
    card.remove();
    if (!$('li', ul)) ul.remove();
    if (!$('li', group)) group.remove();
  };
  // place inserts a card at its position. It returns false if its group does not
  // exist yet.
  const place = card => {
    const old = cardOf(card.dataset.id), group = $(`details[data-group="${CSS.escape(card.dataset.group)}"]`, list);
    if (!group) return false;
    const focused = old?.contains(document.activeElement);
    const next = $$('li', group).find(li => li !== old && li.dataset.order > card.dataset.order);
    next ? next.before(card) : group.lastElementChild.append(card);
    if (old) drop(old);
    if (focused) $('a', card).focus();
    return true;
  };
  const reloadList = async () => {
    const response = await ask(base + '/inbox/list?chosen=' + encodeURIComponent(current() ?? '') + '&' + query());
    if (!response.ok) return;
    const focused = document.activeElement?.closest?.('li.card')?.dataset.id;
    list.replaceChildren(parsed(await response.text()));
    fold();
    if (focused) $('a', cardOf(focused) ?? list)?.focus({ preventScroll: true });
    count();
    choose();
  };
  // Changes of the list are applied one after another, so that older content never
  // replaces newer content.
  let queue = Promise.resolve();
  const inTurn = work => { queue = queue.then(work).catch(() => {}); }; // not connected: the feed repeats the change
  const changed = new Set();
  let refreshing;
  const refresh = id => {
    changed.add(id);
    refreshing ??= setTimeout(() => inTurn(async () => {
      const ids = [...changed];
      changed.clear();
      refreshing = undefined;
      let all = filtered() || ids.length > 8 || !$('li', list);
      for (const id of all ? [] : ids) {
        const response = await ask(`${base}/inbox/${id}/card`), old = cardOf(id);
        const card = response.status === 200 && $('li', parsed(await response.text()));
        if (!card) { if (old) drop(old); continue; }
        if (!old) card.classList.add('new');
        all ||= !place(card);
      }
      if (all) await reloadList();
      count();
      menus();
      choose();
      if (!current() && $('li', list)) await openQuestion($('li', list).dataset.id); // no question is open
    }), 30);
  };

  // On a phone, the list and the question take turns; leaving a question leads back
  // to the place in the list, which stays loaded.
  const narrow = matchMedia('(max-width: 52rem)');
  const single = () => document.body.classList.contains('single');
  let listAt = 0; // how far the list was scrolled
  const toList = () => {
    document.body.classList.remove('single');
    scrollTo(0, listAt);
    const card = current() && cardOf(current());
    if (card) $('a', card).focus({ preventScroll: true });
  };
  const leave = () => settle().then(() => {
    if (!narrow.matches) return location.assign(base + '/');
    history.pushState({}, '', base + '/' + (filtered() ? '?' + query() : ''));
    toList();
  });

  // go opens a question, as its link does.
  const go = async id => {
    if (!single()) listAt = scrollY;
    await openQuestion(id);
    document.body.classList.add('single');
    if (location.pathname !== base + '/inbox/' + id) history.pushState({}, '', base + '/inbox/' + id);
    $('#pane-title')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  };
  addEventListener('popstate', () => {
    if (narrow.matches && single() && location.pathname === base + '/') settle().then(toList);
    else location.reload();
  });
  document.addEventListener('click', e => {
    const a = e.target.closest?.('.back a');
    if (!a || new URL(a.href).pathname !== base + '/' || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    leave();
  });
  list.addEventListener('click', e => {
    const a = e.target.closest('li.card a');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    go(a.closest('li').dataset.id).catch(() => location.assign(a.href));
  });
  document.addEventListener('shown', () => {
    const card = $('[data-ended]') && current() && cardOf(current());
    if (card) { drop(card); count(); }
    choose();
  });
  document.addEventListener('feed', ({ detail: e }) => {
    if (e.type === 'answerChanged' && $('.chip.good', cardOf(e.id) ?? document.body)) return; // the card already shows a draft
    if (e.type === 'requested') ring(e);
    refresh(e.id);
  });

  // ---- alerts
  let alerts = {};
  try { alerts = JSON.parse(localStorage['deskhand.alerts'] ?? '{}'); } catch { /* as if no alerts were set */ }
  const awake = () => stayAwake(alerts.notify || alerts.sound);
  awake();
  const fields = { notify: $('#alert-notify'), sound: $('#alert-sound'), from: $('#quiet-from'), to: $('#quiet-to') };
  $('#alerts').hidden = false;
  for (const [name, field] of Object.entries(fields)) {
    if (field.type === 'checkbox') field.checked = alerts[name] ?? false; else field.value = alerts[name] ?? '';
    field.addEventListener('change', async () => {
      if (name === 'notify' && field.checked && (!('Notification' in window) || await Notification.requestPermission() !== 'granted')) {
        field.checked = false;
        say('This browser does not allow notifications here.');
      }
      alerts[name] = field.type === 'checkbox' ? field.checked : field.value;
      awake();
      try { localStorage['deskhand.alerts'] = JSON.stringify(alerts); } catch { /* then only for this window */ }
      if (name === 'sound' && field.checked) bell();
    });
  }
  // ---- push messages: they reach this device while no page is open
  const tell = (path, subscription) => ask(path, { method: 'POST', body: JSON.stringify(subscription), headers: { 'Content-Type': 'application/json', Accept: 'application/json' } });
  const push = async () => {
    const box = $('#alert-push');
    if (!navigator.serviceWorker || !('PushManager' in window)) return;
    const { key } = await (await ask(base + '/push')).json();
    if (!key) return;
    const bytes = Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
    const { pushManager } = await navigator.serviceWorker.ready;
    const had = await pushManager.getSubscription();
    box.checked = !!had;
    if (had && !(await tell(base + '/push', had)).ok) box.checked = false; // the server forgets it when the session ends
    $('#alert-push-row').hidden = false;
    box.addEventListener('change', async () => {
      box.disabled = true;
      try {
        let subscription = await pushManager.getSubscription();
        if (!box.checked) {
          if (subscription) { await tell(base + '/push/off', subscription); await subscription.unsubscribe(); }
        } else {
          if (await Notification.requestPermission() !== 'granted') throw new Error();
          const same = subscription && subscription.options?.applicationServerKey && String(new Uint8Array(subscription.options.applicationServerKey)) === String(bytes);
          if (subscription && !same) { await subscription.unsubscribe(); subscription = undefined; }
          subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes });
          if (!(await tell(base + '/push', subscription)).ok) throw new Error();
          say('This device will be notified.');
        }
      } catch {
        box.checked = false;
        say('This browser does not allow notifications here.');
      }
      box.disabled = false;
    });
  };
  push().catch(() => {});
  document.addEventListener('click', e => { if (!$('#alerts').contains(e.target)) $('#alerts').open = false; });
  const quiet = () => {
    const now = new Date().toTimeString().slice(0, 5), { from, to } = alerts;
    return from && to && (from <= to ? now >= from && now < to : now >= from || now < to);
  };
  const bell = () => {
    const audio = new AudioContext(), now = audio.currentTime;
    for (const [hz, loud] of [[1320, .16], [2640, .07], [3960, .03]]) {
      const tone = audio.createOscillator(), gain = audio.createGain();
      tone.frequency.value = hz;
      gain.gain.setValueAtTime(loud, now);
      gain.gain.exponentialRampToValueAtTime(.0001, now + 1.1);
      tone.connect(gain).connect(audio.destination);
      tone.start(now);
      tone.stop(now + 1.2);
    }
    setTimeout(() => audio.close(), 1500);
  };
  const ring = e => {
    say(`New question from ${e.asker}: ${e.heading}`);
    if (quiet() && e.priority !== 'urgent') return;
    if (alerts.sound) bell();
    if (alerts.notify && document.hidden && Notification.permission === 'granted') {
      const n = new Notification(e.heading, { body: 'asked by ' + e.asker, tag: e.id });
      n.onclick = () => { focus(); go(e.id).catch(() => {}); n.close(); };
    }
  };

  // ---- keys
  $('#keys').hidden = false;
  let target; // the question that the keys have reached, possibly ahead of the one shown
  const move = by => {
    const cards = $$('.group[open] li.card', list), at = cards.findIndex(c => c.dataset.id === (target ?? current()));
    const card = cards[Math.min(Math.max(at + by, 0), cards.length - 1)];
    if (!card || card.dataset.id === (target ?? current())) return;
    card.scrollIntoView({ block: 'nearest' });
    const before = target;
    target = card.dataset.id;
    if (before === undefined) step();
  };
  const step = async () => { // loads one question at a time, and skips to the last target
    for (let id; id !== target;) await go(id = target).catch(() => {});
    target = undefined;
  };
  document.addEventListener('keydown', e => {
    if (e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'Escape') {
      if ($('#alerts[open]')) { $('#alerts').open = false; return $('#alerts summary').focus(); }
      if (document.querySelector('dialog[open]')) return;
      if (single()) return leave();
      return e.target.blur?.();
    }
    if (inField(e)) return;
    if (e.key === 'f' && !filter.hidden) { e.preventDefault(); return $('#f-q').select(); }
    if (e.key === 'j') { e.preventDefault(); move(1); }
    else if (e.key === 'k') { e.preventDefault(); move(-1); }
  });

  $('button', filter).hidden = true;
  fold();
  count();
  menus();
  choose();
  // Parts of the list have their sizes only when they are drawn, and the rest of it comes
  // later, so the chosen card is kept in view until the person does something.
  const keep = new ResizeObserver(() => cardOf(current())?.scrollIntoView({ block: 'nearest' }));
  keep.observe(list);
  for (const type of ['wheel', 'touchstart', 'pointerdown', 'keydown']) addEventListener(type, () => keep.disconnect(), { capture: true, passive: true, once: true });
  if ($('[data-rest] a', list)) (window.requestIdleCallback ?? setTimeout)(() => inTurn(reloadList));
})();
