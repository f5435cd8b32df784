// Shows push messages, and opens the page that they are about. It keeps and fetches
// nothing else.
'use strict';
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', e => e.waitUntil(self.clients.claim()));
self.addEventListener('push', e => {
  let m = {};
  try { m = e.data.json(); } catch { /* shown without words: a push message must be shown */ }
  e.waitUntil(self.registration.showNotification(m.title ?? 'deskhand', {
    body: m.body ?? '', tag: m.tag, data: { path: m.path ?? '/' }, icon: '/static/icon-192.png',
  }));
});
self.addEventListener('notificationclick', e => {
  e.notification.close();
  const to = new URL(e.notification.data?.path ?? '/', self.location.origin);
  if (to.origin !== self.location.origin) return;
  e.waitUntil((async () => {
    const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const there = windows.find(w => new URL(w.url).pathname === to.pathname) ?? windows.find(w => w.visibilityState === 'visible');
    if (!there) return self.clients.openWindow(to.href);
    await there.focus();
    if (there.url !== to.href) await there.navigate(to.href);
  })());
});
