// Sessions belong to a name of their own, which the server tells to nobody who has
// not shown to be the person. A browser that was once led there from here
// remembers it: no other port of this host can read what this page stores. So
// links to 127.0.0.1 lead on to where the person is signed in.
try {
  const home = document.querySelector('[data-home]'), away = document.querySelector('[data-away]')
  if (home) localStorage.setItem('deskhand-home', new URL(home.dataset.home).origin)
  if (away) {
    const at = new URL(localStorage.getItem('deskhand-home'))
    if (at.hostname.endsWith('.localhost') && at.port === location.port) location.replace(at.origin + '/login' + location.search)
  }
} catch { /* nothing is remembered, or nothing may be: the form is there */ }
