// Copies text: a button with data-copy copies what is before it, the address if that is a
// link. Without this script, there are no such buttons.
'use strict';
(() => {
  document.documentElement.dataset.copies = '';
  const said = document.createElement('p');
  said.className = 'hide';
  said.setAttribute('role', 'status');
  document.body.append(said);
  const say = (button, text) => {
    const label = button.firstChild, was = label.data;
    label.data = said.textContent = text;
    button.ariaDisabled = 'true';
    setTimeout(() => { label.data = was; said.textContent = ''; button.ariaDisabled = null; }, 2500);
  };
  document.addEventListener('click', async e => {
    const button = e.target.closest?.('button[data-copy]');
    if (!button || button.ariaDisabled) return;
    const from = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(from.href ?? from.textContent);
      say(button, 'Copied');
    } catch { // the origin is not secure, or copying is not allowed: the person can use the keyboard
      getSelection().selectAllChildren(from);
      say(button, 'Selected: copy it with the keyboard');
    }
  });
})();
