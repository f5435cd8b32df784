// A question's form in a conversation. The form's own script, which follows this
// one, does everything that a person sees. This script finds the call's question and
// sends the form's requests through the host.
'use strict';
const deskhandCarrier = (() => {
  const $ = selector => document.querySelector(selector);
  const sleep = ms => new Promise(done => setTimeout(done, ms));
  // How long a request for changes is held, in milliseconds. If the host sends only
  // a few calls at a time, an answer is delayed by at most the first value.
  const polls = { first: 5000, later: 15000 };
  let id, key; // the question's ID and key
  let busy = 0; // number of the form's running requests
  let poll; // the running request for changes: {ended}
  let oneByOne = false; // the host sends one call at a time, so requests for changes must not be held

  const carry = async (what, more = {}) => {
    const before = poll, began = Date.now();
    busy++;
    try {
      const result = await host.call(host.tools.form, { do: what, ...(key ? { request_id: id, key } : {}), ...more });
      const view = result._meta?.['deskhand/view'];
      if (!view) throw new Error('This program cannot connect the form. Answer in deskhand\'s inbox instead.');
      return view;
    } finally {
      busy--;
      if (what !== 'changes' && before?.ended && Date.now() - began > 2000) oneByOne = true;
    }
  };

  // ---- this call's question
  let input, ended; // the call's arguments and result, from the host
  let news; // resolves the promise of heard
  const heard = () => new Promise(done => { news = done; });
  const tell = text => { $('#waiting').textContent = text; $('#waiting').hidden = !text; };
  host.on('tool-input', p => { input = p.arguments ?? {}; news?.(); });
  host.on('tool-result', p => { ended = p; news?.(); });
  host.on('tool-cancelled', () => { ended ??= {}; news?.(); });
  // How long to wait for the call to ask its question, in milliseconds, and after
  // how long to accept a question that a view has already shown, because this page
  // may have been reloaded.
  const patience = { call: 120000, again: 2500 };

  const find = async () => {
    const proof = $('meta[name=proof]').content;
    for (const began = Date.now(); ;) {
      const last = ended, asked = last?._meta?.['deskhand/request_id'] ?? last?.structuredContent?.request_id;
      const known = asked ? { request_id: asked } : input && { arguments: input };
      const view = known && await carry('open', { proof, ...known, again: Date.now() - began > patience.again });
      if (view?.found) return view;
      if (ended !== last) continue; // the call has ended meanwhile, and its result names the question
      if (ended && !asked || Date.now() - began > patience.call) return undefined;
      await Promise.race([heard(), sleep(known ? Math.min(250 + (Date.now() - began) / 10, 3000) : patience.call)]);
    }
  };
  const open = async () => {
    let why = 'This question is not open, or the call has ended.';
    const view = await find().catch(e => { why = e.message; });
    if (!view) {
      tell(why);
      return new Promise(() => {}); // the form has nothing to do
    }
    ({ request_id: id, key } = view);
    const box = $('#open'), parsed = document.createElement('template');
    parsed.innerHTML = view.body;
    for (const n of parsed.content.querySelectorAll('noscript')) n.remove(); // a template parses their content
    box.replaceChildren(parsed.content);
    box.dataset.seq = view.seq;
    $('#fold').hidden = false;
    tell('');
  };

  // ---- the form's requests
  const stepOf = (path, method) => method !== 'POST' ? 'form' : /\/draft$/.test(path) ? 'draft' : /\/presented$/.test(path) ? 'presented' : 'act';
  const fetched = async (path, { method = 'GET', body, signal } = {}) => {
    const step = stepOf(path.split('?')[0], method);
    const late = new Promise((_, fail) => signal?.addEventListener('abort', () => fail(new Error('no answer in time'))));
    const view = await Promise.race([carry(step, body === undefined ? {} : { body: String(body) }), late]);
    return new Response(view.status === 204 ? null : view.body, { status: view.status });
  };

  // Feed implements an EventSource with requests for changes. It ends when the
  // question ends.
  class Feed {
    readyState = 1;
    constructor(seq) { this.run(Number(seq)); }
    addEventListener(type, f) { this['on' + type] = f; }
    close() { this.readyState = 2; }
    async run(seq) {
      await undefined; // the form sets its handlers first
      this.onopen?.();
      const beat = setInterval(() => this.readyState === 2 ? clearInterval(beat) : this.onbeat?.(), 15000);
      for (let failed = 0, silent = 0; this.readyState !== 2 && $('#form');) {
        try {
          await host.onScreen($('#view'));
          if (this.readyState === 2) return;
          const mine = poll = { ended: false };
          const view = await carry('changes', { after: seq, wait: oneByOne ? 0 : silent < 24 ? polls.first : polls.later }).finally(() => { mine.ended = true; });
          if (this.readyState === 2) return;
          const { seq: now, events, reset } = JSON.parse(view.body);
          if (reset) return this.onreset?.();
          if (failed) this.onopen?.();
          failed = 0;
          silent = events.length ? 0 : silent + 1;
          seq = now;
          for (const e of events) this.onmessage?.({ lastEventId: seq, data: JSON.stringify(e) });
          if (silent > 60) await sleep(30000); // nothing has happened for ten minutes
          else if (oneByOne) await sleep(2000);
        } catch {
          this.onerror?.();
          await sleep(Math.min(1000 * 2 ** failed++, 15000));
        }
      }
      clearInterval(beat);
    }
  }

  // ---- forms, in a frame that is not allowed to submit them
  const sent = (form, submitter) => form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true, submitter }));
  HTMLFormElement.prototype.requestSubmit = function (submitter) { sent(this, submitter ?? this.querySelector('button:not([type=button])')); };
  document.addEventListener('click', e => {
    const button = e.target.closest('button');
    if (!button?.form || button.type !== 'submit') return;
    e.preventDefault();
    sent(button.form, button);
  });

  // ---- the frame itself
  $('#fold').onclick = () => {
    const show = $('#open').hidden;
    $('#open').hidden = !show;
    $('#fold').textContent = show ? 'Minimize' : 'Show the question';
    $('#fold').setAttribute('aria-expanded', show);
  };
  host.leaving(async () => { // saves the last input
    dispatchEvent(new Event('pagehide'));
    for (let i = 0; i < 40 && busy > 1; i++) await sleep(25);
  });

  return {
    ready: host.start('deskhand-ask').then(open),
    sendEvery: 400, // each draft is a call
    fetch: fetched,
    events: after => new Feed(after),
    there: () => carry('changes', { after: 0, wait: 0 }).then(() => true, () => false),
    again: () => open().catch(() => {}),
    leave: () => {},
    mayFocus: () => document.hasFocus(),
  };
})();
globalThis.deskhandCarrier = deskhandCarrier;
