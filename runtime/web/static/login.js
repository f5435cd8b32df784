// Sessions belong to their own host name, which the server reveals only to the
// person. A browser that was once redirected to that name from this page remembers
// it, and no other port of this host can read what this page stores. So links to
// 127.0.0.1 are redirected to the name at which the person is signed in.
try {
  const home = document.querySelector('[data-home]'), away = document.querySelector('[data-away]')
  if (home) localStorage.setItem('deskhand-home', new URL(home.dataset.home).origin)
  if (away) {
    const at = new URL(localStorage.getItem('deskhand-home'))
    if (at.hostname.endsWith('.localhost') && at.port === location.port) location.replace(at.origin + location.pathname + location.search)
  }
} catch { /* nothing is stored, or storage is not allowed: the person can use the form */ }
