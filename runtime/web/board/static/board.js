// The work, live: the log of an attempt grows while it is looked at, and the
// board follows what agents do. Without it a reload shows the same.
'use strict';
(() => {
  const $ = selector => document.querySelector(selector);
  const sleep = ms => new Promise(done => setTimeout(done, ms));
  const parsed = html => { const t = document.createElement('template'); t.innerHTML = html; return t.content; };

  // replace puts what the server has now in the place of part of the page.
  const replace = async selector => {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
    if (!response.ok || response.redirected) return;
    const now = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector(selector);
    const old = $(selector);
    if (now && old && now.innerHTML !== old.innerHTML && !old.contains(document.activeElement)) old.replaceChildren(...now.childNodes);
  };

  const log = $('#log[data-news]');
  const follow = async () => {
    let after = log.dataset.after, process = log.dataset.process;
    for (let pause = 500; ;) {
      if (document.hidden) { await sleep(1000); continue; }
      try {
        const response = await fetch(`${log.dataset.news}?after=${after}&process=${encodeURIComponent(process)}`);
        if (!response.ok) throw new Error(response.status);
        const news = await response.json();
        pause = 500;
        const low = innerHeight + scrollY > document.body.scrollHeight - 80;
        for (const li of [...parsed(news.html).children]) {
          const old = document.getElementById(li.id);
          if (old) old.replaceWith(li); else log.append(li);
          $('#quiet')?.remove();
        }
        const head = $('#standing');
        if (head.innerHTML !== news.head && !head.contains(document.activeElement)) {
          head.innerHTML = news.head;
          $('#said').textContent = head.querySelector('.chip').textContent;
        }
        if (low && news.html) scrollTo({ top: document.body.scrollHeight });
        after = news.after;
        if (news.again) {
          if ($('#prompt')?.value) { await sleep(3000); continue; } // what is typed is not lost
          location.reload();
          return;
        }
      } catch {
        await sleep(pause = Math.min(10000, pause * 2));
      }
    }
  };
  if (log) follow();

  if ($('[data-live]')) {
    (async () => {
      for (;;) {
        await sleep(document.querySelector('[data-live] .chip.good') ? 1500 : 4000);
        if (!document.hidden) await replace('[data-live]').catch(() => {});
      }
    })();
  }
  $('#project')?.addEventListener('change', event => event.target.form.submit());
})();
