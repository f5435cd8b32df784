// Moves tasks on the board by drag and by keys, and counts the selected ones. Without
// this script, a task's page has a menu with its status.
'use strict';
(() => {
  const board = document.querySelector('.board');
  if (!board) return;
  const $ = (selector, at = document) => at.querySelector(selector);
  const token = $('meta[name=token]').content;
  const columns = () => [...board.querySelectorAll('.column')];
  const cards = column => [...column.querySelectorAll('.card')];
  const cardOf = id => $(`.card[data-id="${CSS.escape(id)}"]`, board);
  const say = text => { $('#moved').textContent = text; };
  const nameOf = column => $('h2', column).firstChild.textContent.trim();

  // fresh shows the board as the server has it.
  const fresh = async () => {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
    if (!response.ok) throw new Error(response.status);
    const now = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('.board');
    if (now) board.replaceChildren(...now.childNodes);
    arm();
  };
  const move = async (id, column) => {
    const card = cardOf(id), status = column.dataset.status;
    if (!card || card.closest('.column') === column) return;
    if (status === 'cancelled' && 'running' in card.dataset && !confirm('An agent is at work. Cancel the task and stop it?')) return;
    const focused = card.contains(document.activeElement), title = $('a', card).textContent, name = nameOf(column);
    try {
      const response = await fetch((document.documentElement.dataset.base ?? '') + '/work/tasks/' + id, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ act: 'status', status, token }) });
      if (response.type !== 'opaqueredirect') throw new Error(response.status);
      await fresh();
      say(`${title}: ${name}`);
    } catch {
      say(`${title} was not moved. Reload the page and try again.`);
      $('#moved').classList.remove('hide');
    }
    if (focused) $('a', cardOf(id) ?? board)?.focus();
  };

  // ---- selection
  const bulk = $('#bulk'), picks = () => [...board.querySelectorAll('.pick')];
  const picked = new Set(picks().filter(p => p.checked).map(p => p.value)); // the board is replaced now and then
  const count = () => {
    for (const id of picked) if (!cardOf(id)) picked.delete(id);
    $('#picked').textContent = picked.size + ' selected';
  };
  const pick = (boxes, on) => {
    for (const box of boxes) { box.checked = on; picked[on ? 'add' : 'delete'](box.value); }
    count();
  };
  board.addEventListener('change', e => { if (e.target.matches('.pick')) pick([e.target], e.target.checked); });
  for (const [id, on] of [['#pickall', true], ['#picknone', false]]) {
    $(id).hidden = false;
    $(id).addEventListener('click', () => { pick(picks(), on); if (!on) $('.card a', board)?.focus(); });
  }
  bulk.addEventListener('submit', e => {
    if (e.submitter.value !== 'move' || bulk.elements.status.value !== 'cancelled') return;
    if (picks().some(p => p.checked && 'running' in p.closest('.card').dataset) && !confirm('Agents are at work. Cancel the tasks and stop them?')) e.preventDefault();
  });
  board.addEventListener('click', e => {
    const plus = e.target.closest?.('.plus');
    if (!plus || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    $('#in-status').value = plus.closest('.column').dataset.status;
    $('details.new').open = true;
    $('#title').focus();
  });

  // ---- drag
  let dragged;
  const places = new Map(); // the column of each card, to show which ones have moved
  const arm = () => {
    const before = places.size;
    for (const card of board.querySelectorAll('.card')) {
      card.draggable = true;
      $('a', card).draggable = false;
      $('.pick', card).checked = picked.has(card.dataset.id);
      const status = card.closest('.column').dataset.status;
      if (before && places.get(card.dataset.id) !== status) card.classList.add('arrived');
      places.set(card.dataset.id, status);
    }
    count();
  };
  board.addEventListener('dragstart', e => {
    const card = e.target.closest?.('.card');
    if (!card) return;
    dragged = card.dataset.id;
    board.dataset.busy = '1'; // the board is not replaced meanwhile
    e.dataTransfer.effectAllowed = 'move';
    e.dataTransfer.setData('text/plain', $('a', card).href);
  });
  const over = column => { for (const c of columns()) c.classList.toggle('over', c === column); };
  board.addEventListener('dragover', e => {
    const column = e.target.closest('.column');
    over(column);
    if (dragged && column) e.preventDefault();
  });
  board.addEventListener('drop', e => {
    const column = e.target.closest('.column');
    if (!dragged || !column) return;
    e.preventDefault();
    move(dragged, column);
  });
  board.addEventListener('dragend', () => { dragged = undefined; delete board.dataset.busy; over(); });

  // ---- keys
  const focusOn = card => { const a = card && $('a', card); a?.focus(); a?.scrollIntoView({ block: 'nearest' }); };
  const arrows = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target.matches('input:not(.pick), textarea, select') || $('dialog[open]')) return;
    if (e.key === 'n') { e.preventDefault(); const d = $('details.new'); d.open = true; return $('#title').focus(); }
    if (e.key === 'f' || e.key === '/') { e.preventDefault(); return $('#f-q').select(); }
    const way = arrows[e.key], card = document.activeElement.closest?.('.board .card');
    if (e.key === 'a' && picked.size) { e.preventDefault(); return $('#b-label').focus(); }
    if (e.key === 'x' && card) { e.preventDefault(); const box = $('.pick', card); return pick([box], !box.checked); }
    if (!way) return;
    if (!card) { if (document.activeElement === document.body) { e.preventDefault(); focusOn($('.card', board)); } return; }
    e.preventDefault();
    const all = columns(), x = all.indexOf(card.closest('.column')), y = cards(all[x]).indexOf(card);
    if (way[1]) return focusOn(cards(all[x])[y + way[1]]);
    if (e.shiftKey) { const to = all[x + way[0]]; return to && move(card.dataset.id, to); }
    for (let to = x + way[0]; all[to]; to += way[0]) if (cards(all[to]).length) return focusOn(cards(all[to])[Math.min(y, cards(all[to]).length - 1)]);
  });
  $('#sieve button').hidden = true;
  for (const control of $('#sieve').querySelectorAll('select, input[type=checkbox]')) control.addEventListener('change', () => $('#sieve').requestSubmit());
  new MutationObserver(arm).observe(board, { childList: true });
  $('#keys').hidden = false;
  arm();
})();
