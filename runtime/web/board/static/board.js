// Keeps the pages about tasks up to date: an attempt's log grows while its page is
// open, and the board follows what agents do. Without this script, a reload shows
// the same.
'use strict';
(() => {
  const $ = (selector, at = document) => at.querySelector(selector);
  const sleep = ms => new Promise(done => setTimeout(done, ms));
  const parsed = html => { const t = document.createElement('template'); t.innerHTML = html; return t.content; };

  // replace updates parts of the page with the server's current content. Folded
  // and unfolded files stay as they are, and the focus stays at its file. A part in
  // which somebody types is updated later.
  const replace = async (...selectors) => {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
    if (!response.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const selector of selectors) {
      const now = page.querySelector(selector), old = $(selector), focus = document.activeElement;
      if (!now || !old) continue;
      const within = old.contains(focus), at = focus.closest('.file')?.dataset.path;
      if (within && !(at && focus.matches('summary, a, button'))) {
        old.addEventListener('focusout', () => setTimeout(() => replace(selector).catch(() => {})), { once: true });
        continue;
      }
      for (const had of old.querySelectorAll('details[data-path]')) {
        const has = now.querySelector(`details[data-path="${CSS.escape(had.dataset.path)}"]`);
        if (has) has.open = had.open;
      }
      for (const had of old.querySelectorAll('.file[data-shown], .file:has(.diff)')) { // keep loaded lines if the content is the same
        const path = CSS.escape(had.dataset.path), has = now.querySelector(`.file[data-path="${path}"]`);
        if (has && has.querySelector('details')?.dataset.mark === had.querySelector('details')?.dataset.mark) has.replaceWith(had);
      }
      if (now.innerHTML !== old.innerHTML) old.replaceChildren(...now.childNodes);
      if (within) (focus.isConnected ? focus : $(`.file[data-path="${CSS.escape(at)}"] summary`))?.focus({ preventScroll: true });
      document.dispatchEvent(new CustomEvent('changes'));
    }
  };

  // stamp shows an entry's time where the browser is, unless the entry above has the
  // same one.
  const stamp = li => {
    const time = li?.querySelector(':scope > .at time');
    if (!time) return;
    const at = new Date(time.dateTime), above = li.previousElementSibling?.querySelector(':scope > .at time');
    time.textContent = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    time.title = at.toLocaleString([], { dateStyle: 'full', timeStyle: 'medium' });
    time.parentElement.classList.toggle('same', above?.textContent === time.textContent && Math.abs(at - new Date(above.dateTime)) < 60000);
  };
  for (const li of document.querySelectorAll('#log > li')) stamp(li);

  // A link to an entry becomes the page's address and is copied; the page stays.
  $('#log')?.addEventListener('click', e => {
    const a = e.target.closest('a.at');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    history.replaceState(history.state, '', a.href);
    navigator.clipboard?.writeText(a.href).then(() => { $('#said').textContent = 'The link is copied.'; }).catch(() => {});
    const li = a.closest('li');
    li.tabIndex = -1;
    li.focus({ preventScroll: true });
  });

  // forget removes the oldest entries of a page that has followed a run for long, as
  // long as the reader is at the end, and leads to them by a link.
  const kept = 400;
  const forget = (process, page) => {
    const scroller = $('#scroller');
    if (log.children.length <= kept * 1.25 || scroller.scrollTop < -100) return;
    while (log.children.length > kept) log.firstElementChild.remove();
    const index = $('li[id^=e-]', log).id.match(/\d+$/);
    let older = $('#older');
    if (!older) {
      older = document.createElement('p');
      older.id = 'older';
      older.innerHTML = '<a class="button small">Older entries</a>';
      log.before(older);
    }
    $('a', older).href = `${page}?before=${process}:${index}#log-title`;
  };

  // The conversation grows at its end, in a box that scrolls from there: a reader at
  // the end stays there, and a reader further up is not moved.
  const log = $('#log[data-news]');
  const follow = async () => {
    let failed = 0, after = log.dataset.after, process = log.dataset.process, live = 'running' in log.dataset;
    for (let pause = 500; ;) {
      if (document.hidden) { await sleep(1000); continue; }
      try {
        const response = await fetch(`${log.dataset.news}?after=${after}&process=${encodeURIComponent(process)}${live ? '&live=1' : ''}`);
        if (!response.ok) throw new Error(response.status);
        const news = await response.json();
        pause = 500;
        for (const li of [...parsed(news.html).children]) {
          const old = document.getElementById(li.id);
          if (old) old.replaceWith(li); else log.append(li);
          stamp(li), stamp(li.nextElementSibling);
          if (li.matches('.fail') && !old?.matches('.fail')) failed++;
          $('#quiet')?.remove();
          if (li.classList.contains('tool')) lookAgain();
        }
        jumps(failed);
        failed = 0;
        forget(news.process, log.dataset.news.replace(/\/news$/, ''));
        const head = $('#standing');
        if (head.innerHTML !== news.head && !head.contains(document.activeElement)) {
          head.innerHTML = news.head;
          const word = head.querySelector('.chip').textContent;
          $('#said').textContent = word;
          document.title = document.title.replace(/^[^:]*/, word);
        }
        const was = live;
        ({ after, process, live } = news);
        if (news.again || was !== live) await replace('#acts', '#ways', '#queued', '#changes');
      } catch {
        await sleep(pause = Math.min(10000, pause * 2));
      }
    }
  };
  if (log) follow();
  // The message box stays in the window, however much content is above it.
  const side = $('.talkside');
  const fit = () => side.style.setProperty('--above', Math.max(0, side.getBoundingClientRect().top) + 'px');
  if (side) { fit(); addEventListener('scroll', fit, { passive: true }); addEventListener('resize', fit); }
  const latest = $('#latest'), scroller = $('#scroller'); // its end is at 0
  scroller?.addEventListener('scroll', () => { latest.hidden = scroller.scrollTop > -100; }, { passive: true });
  latest?.addEventListener('click', () => { scroller.scrollTop = 0; scroller.focus({ preventScroll: true }); });
  const jumper = (kind, button) => {
    let at = -1;
    button?.addEventListener('click', event => {
      const all = [...document.querySelectorAll('#log > .' + kind)];
      if (!all.length) return;
      event.preventDefault();
      at = (at + 1) % all.length;
      all[at].tabIndex = -1;
      all[at].scrollIntoView({ block: 'center' });
      all[at].focus({ preventScroll: true });
    });
  };
  const jumps = (more = 0) => { // more is the number of new failures
    const b = $('#question'), f = $('#failure');
    if (b) b.hidden = !$('#log > .ask');
    if (!f || !more) return;
    const n = f.dataset.count = Number(f.dataset.count) + more;
    f.textContent = n === 1 ? '1 failure' : n + ' failures';
    f.hidden = false;
  };
  jumper('fail', $('#failure'));
  jumper('ask', $('#question'));
  jumps();

  // The changes are counted again some time after the agent used a tool. The
  // attempt's state is updated when a question was asked or answered.
  let looking;
  const lookAgain = () => {
    looking ??= setTimeout(async () => {
      await replace('#changes').catch(() => {});
      looking = undefined;
    }, 3000);
  };
  document.addEventListener('feed', ({ detail: e }) => {
    if (e.type !== 'answerChanged') replace('#standing').catch(() => {});
  });

  if ($('[data-live]')) {
    (async () => {
      for (;;) {
        await sleep(document.querySelector('[data-live] .chip.good') ? 1500 : 4000);
        if (!document.hidden && !$('[data-busy]')) await replace('[data-live]').catch(() => {});
      }
    })();
  }
  // A form that starts something is sent once, however often its button is pressed.
  // If the person navigates back to its page, it counts as a new form.
  for (const form of document.querySelectorAll('form[data-once]')) {
    form.addEventListener('submit', () => setTimeout(() => { for (const b of form.querySelectorAll('button')) b.disabled = true; }));
  }
  addEventListener('pageshow', event => {
    if (!event.persisted) return;
    for (const form of document.querySelectorAll('form[data-once]')) {
      form.elements.once.value = crypto.randomUUID?.() ?? String(Math.random());
      for (const b of form.querySelectorAll('button')) b.disabled = false;
    }
  });
  document.addEventListener('keydown', event => {
    const form = event.target.closest?.('form[data-once]');
    if (form && event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.tagName === 'TEXTAREA') { event.preventDefault(); form.requestSubmit(form.querySelector('button.primary')); }
  });
  $('details.new')?.addEventListener('toggle', event => { if (event.target.open) $('#title').focus(); });
  $('[data-focus]')?.focus();
  $('#project')?.addEventListener('change', event => event.target.form.submit());

  document.documentElement.dataset.ready = '1';
})();
