// Tells the window that opened this one, if it belongs to this server, that the
// request has ended. If the request succeeded, closes this window.
const state = document.querySelector("[data-state]")?.dataset.state;
if (window.opener && (state === "done" || state === "ended")) {
  const id = location.pathname.split("/").pop();
  window.opener.postMessage({ type: "deskhand-connect", elicitationId: id, action: state === "done" ? "accept" : "decline" }, location.origin);
  if (state === "done") window.close();
}
