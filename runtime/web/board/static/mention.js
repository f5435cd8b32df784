// Completes @file in prompts. Without this script, the path is typed.
'use strict';
for (const area of document.querySelectorAll('textarea[data-project]')) {
  const list = document.createElement('ul'), said = document.createElement('p');
  let at = 0, asked = 0;
  list.className = 'mentions';
  list.id = area.id + '-files';
  list.hidden = true;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Files');
  said.className = 'hide';
  said.setAttribute('role', 'status');
  area.after(list, said);
  for (const [name, value] of Object.entries({ 'aria-autocomplete': 'list', 'aria-controls': list.id })) area.setAttribute(name, value);
  const word = () => area.value.slice(0, area.selectionStart).match(/(?:^|\s)@([^\s@]*)$/)?.[1];
  const close = () => { list.hidden = true; area.removeAttribute('aria-activedescendant'); };
  const mark = n => {
    const all = [...list.children];
    at = (n + all.length) % all.length;
    all.forEach((o, i) => o.setAttribute('aria-selected', i === at));
    area.setAttribute('aria-activedescendant', all[at].id);
    all[at].scrollIntoView({ block: 'nearest' });
  };
  const take = path => {
    const end = area.selectionStart, from = end - word().length;
    area.setRangeText(path + ' ', from, end, 'end');
    close();
    area.dispatchEvent(new Event('input', { bubbles: true }));
    area.focus();
  };
  const look = async () => {
    const typed = word(), mine = ++asked;
    if (typed === undefined) return close();
    let files = [];
    try { files = await (await fetch(`/work/files?project=${encodeURIComponent(area.dataset.project)}&q=${encodeURIComponent(typed.replaceAll('/', ' '))}`)).json(); } catch { /* typed without help */ }
    if (mine !== asked) return;
    if (!files.length) return close();
    list.replaceChildren(...files.map((path, i) => {
      const o = document.createElement('li');
      o.id = `${list.id}-${i}`;
      o.textContent = path;
      o.dir = 'ltr';
      o.setAttribute('role', 'option');
      o.addEventListener('pointerdown', e => { e.preventDefault(); take(path); });
      return o;
    }));
    if (list.hidden) said.textContent = 'Files: use the arrows, Enter inserts.';
    list.hidden = false;
    mark(0);
  };
  area.addEventListener('input', look);
  area.addEventListener('blur', close);
  area.addEventListener('keydown', e => {
    if (list.hidden) return;
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') { e.preventDefault(); mark(at + (e.key === 'ArrowDown' ? 1 : -1)); }
    else if ((e.key === 'Enter' && !e.ctrlKey && !e.metaKey) || e.key === 'Tab') { e.preventDefault(); take(list.children[at].textContent); }
    else if (e.key === 'Escape') { e.stopPropagation(); close(); }
  });
}
