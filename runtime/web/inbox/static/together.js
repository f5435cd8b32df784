// A box that checks all boxes of its form. Without this script, each is checked alone.
'use strict';
for (const all of document.querySelectorAll('[data-all]')) {
  const boxes = [...all.form.querySelectorAll('[name=id]')];
  const look = () => { all.checked = boxes.every(b => b.checked); all.indeterminate = !all.checked && boxes.some(b => b.checked); };
  all.closest('label').hidden = false;
  all.addEventListener('change', () => { for (const b of boxes) b.checked = all.checked; });
  all.form.addEventListener('change', look);
  look();
}
document.querySelector('[data-focus]')?.focus();
document.documentElement.dataset.ready = '1';
