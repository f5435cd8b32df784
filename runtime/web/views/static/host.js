// Connects a view with its host through messages (MCP Apps, version 2026-01-26). A
// view starts with host.start, receives the call that it belongs to, and calls its
// server's tools through the host.
'use strict';
const host = (() => {
  const version = '2026-01-26';
  const waiting = new Map(); // by request ID: {done, fail}
  const heard = {}; // handlers by notification name, without ui/notifications/
  const leaving = []; // functions to call before the host removes the view
  let last = 0;

  const tell = message => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const request = (method, params) => new Promise((done, fail) => {
    const id = ++last;
    waiting.set(id, { done, fail });
    tell({ id, method, params });
  });
  const notify = (method, params = {}) => tell({ method, params });

  // Messages from senders other than the host are ignored.
  addEventListener('message', async ({ source, data: m }) => {
    if (source !== parent || m?.jsonrpc !== '2.0') return;
    if (m.method === undefined) {
      const w = waiting.get(m.id);
      waiting.delete(m.id);
      if (m.error) w?.fail(new Error(m.error.message || 'the host refused'));
      else w?.done(m.result);
    } else if (m.id === undefined) {
      const name = m.method.replace(/^ui\/notifications\//, '');
      for (const f of heard[name] ?? []) f(m.params ?? {});
    } else if (m.method === 'ping') {
      tell({ id: m.id, result: {} });
    } else if (m.method === 'ui/resource-teardown') {
      for (const f of leaving) await f();
      tell({ id: m.id, result: {} });
    } else {
      tell({ id: m.id, error: { code: -32601, message: 'not a method of this view' } });
    }
  });
  const on = (name, f) => { (heard[name] ??= []).push(f); };

  // ---- the host's appearance
  const context = {};
  const dark = [...document.styleSheets].flatMap(s => [...s.cssRules]).filter(r => r.media?.mediaText.includes('prefers-color-scheme: dark'));
  const fonts = ['--font-sans', '--font-mono'];
  const look = more => {
    Object.assign(context, more);
    const root = document.documentElement, { theme, styles, locale } = context;
    if (theme === 'light' || theme === 'dark') {
      root.style.colorScheme = theme;
      for (const rule of dark) rule.media.mediaText = theme === 'dark' ? 'all' : 'not all';
    }
    for (const name of fonts) if (typeof styles?.variables?.[name] === 'string') root.style.setProperty(name, styles.variables[name]);
    if (locale) root.dataset.locale = locale;
  };
  on('host-context-changed', look);

  // The view reports the height of its content; the host gives it that height or less.
  const measured = () => {
    let told = 0;
    const measure = () => {
      const height = Math.ceil(document.querySelector('#view').getBoundingClientRect().height);
      if (height !== told) notify('ui/notifications/size-changed', { height: told = height });
    };
    new ResizeObserver(measure).observe(document.querySelector('#view'));
  };

  const start = async name => {
    const { hostContext, hostCapabilities } = await request('ui/initialize', {
      protocolVersion: version, appInfo: { name, version: '1' }, appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    });
    look(hostContext ?? {});
    measured();
    notify('ui/notifications/initialized');
    document.documentElement.dataset.ready = '1';
    return hostCapabilities ?? {};
  };

  // call calls one of this server's tools and returns the result. If the call is
  // refused, it throws an error with the server's text.
  const call = async (tool, args) => {
    const result = await request('tools/call', { name: tool, arguments: args });
    if (result?.isError) throw new Error((result.content ?? []).map(c => c.text).filter(Boolean).join(' ') || 'the call failed');
    return result ?? {};
  };
  // said decodes a tool result's JSON, which the host passes on as structured content
  // or as text.
  const said = result => {
    if (result?.structuredContent) return result.structuredContent;
    try { return JSON.parse(result?.content?.[0]?.text); } catch { return {}; }
  };
  const tools = JSON.parse(document.querySelector('meta[name=tools]').content);
  // onScreen waits until el is on the screen, so that a view far up in a conversation
  // sends no requests.
  const onScreen = el => new Promise(done => {
    const seen = new IntersectionObserver(all => { if (all.some(e => e.isIntersecting)) { seen.disconnect(); done(); } });
    seen.observe(el);
  });
  return { call, leaving: f => leaving.push(f), on, onScreen, said, start, tools };
})();
