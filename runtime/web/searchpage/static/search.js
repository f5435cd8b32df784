// The page works without this script, which searches while one types, goes from hit to
// hit by keys, and keeps the last questions in the browser.
"use strict";
(() => {
  const $ = (selector, at = document) => at.querySelector(selector);
  const form = $(".ask"), field = $("#q"), found = $("#found"), said = $("#said");

  // ---- search while one types: the address is that of the search
  let timer, asking;
  const look = async () => {
    asking?.abort();
    if (field.value.trim().length < 3) return;
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)), address = form.action + "?" + query;
    asking = new AbortController();
    try {
      const response = await fetch(address, { headers: { "Deskhand-Part": "1" }, cache: "no-store", signal: asking.signal });
      if (response.redirected) return;
      found.innerHTML = await response.text();
    } catch { return; } // the next letter came, or the server is gone
    history.replaceState(null, "", address);
    document.title = field.value.trim() + " · Search · deskhand";
    said.textContent = $("#hits-title, .note", found)?.textContent ?? "";
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(look, 250); };
  field.addEventListener("input", e => { if (!e.isComposing) soon(); });
  field.addEventListener("compositionend", soon);
  $(".menus").addEventListener("change", soon);
  form.addEventListener("submit", () => { clearTimeout(timer); asking?.abort(); });

  // ---- keys
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || $("dialog[open]")) return;
    const links = [...found.querySelectorAll(".hit h3 a")], at = links.indexOf(document.activeElement), way = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (way && (at >= 0 || e.target === field || e.target === document.body && way > 0)) {
      const next = at + way < 0 ? field : links[at + way];
      if (!next || at < 0 && way < 0) return;
      e.preventDefault();
      next.focus();
    } else if (e.key === "/" && !e.target.matches("input, textarea, select")) {
      e.preventDefault();
      field.select();
    }
  });
  $("p.keys").hidden = false;

  // ---- the last questions, in this browser only, until the person signs out
  const key = "searches", recent = $("#recent");
  let last = [];
  try { last = JSON.parse(localStorage.getItem(key)) ?? []; } catch { /* there are none */ }
  const keep = () => { try { localStorage.setItem(key, JSON.stringify(last)); } catch { /* it is not allowed */ } };
  const now = new URLSearchParams(location.search).get("q")?.trim();
  if (now) {
    last = [now, ...last.filter(q => q !== now)].slice(0, 8);
    keep();
  } else if (last.length) {
    $("span", recent).after(...last.map(q => {
      const a = document.createElement("a");
      a.className = "chip";
      a.dir = "auto";
      a.href = form.action + "?q=" + encodeURIComponent(q);
      a.textContent = q.length > 60 ? q.slice(0, 60) + "…" : q;
      return a;
    }));
    $("button", recent).addEventListener("click", () => { last = []; keep(); recent.hidden = true; field.focus(); });
    recent.hidden = false;
  }
  $(".signout")?.addEventListener("submit", () => localStorage.removeItem(key));

  document.documentElement.dataset.ready = "";
})();
