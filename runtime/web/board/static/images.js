// Attaches images to prompts by a button, paste or drop. Without this script, a form stores them.
'use strict';
for (const area of document.querySelectorAll('textarea[data-project]')) {
  const kinds = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
  const row = document.createElement('p'), label = document.createElement('label'), file = document.createElement('input'), said = document.createElement('span');
  row.className = 'row small attach';
  file.type = 'file';
  file.accept = kinds.join(',');
  file.multiple = true;
  file.className = 'hide';
  label.append('Add images', file);
  said.setAttribute('role', 'status');
  row.append(label, said);
  area.closest('p').after(row);
  const insert = text => {
    const at = area.selectionEnd, before = area.value.slice(0, at);
    area.setRangeText((before && !before.endsWith('\n') ? '\n' : '') + text + '\n', at, at, 'end');
    area.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const send = async images => {
    for (const image of images) {
      said.textContent = 'Storing the image …';
      const body = new FormData();
      body.append('token', area.form.elements.token.value);
      body.append('image', image);
      try {
        const answer = await fetch(`${document.documentElement.dataset.base ?? ''}/work/images`, { method: 'POST', body, headers: { 'Deskhand-Part': '1' } });
        if (!answer.ok) throw new Error();
        insert((await answer.json()).text);
        said.textContent = 'The image is attached.';
      } catch {
        said.textContent = 'The image was not stored. Use a PNG, JPEG, GIF or WebP image of at most 5 MiB.';
      }
    }
    file.value = '';
  };
  const imagesOf = data => [...(data?.files ?? [])].filter(f => kinds.includes(f.type));
  file.addEventListener('change', () => send([...file.files]));
  area.addEventListener('paste', e => { const found = imagesOf(e.clipboardData); if (found.length) { e.preventDefault(); send(found); } });
  area.addEventListener('dragover', e => { if (e.dataTransfer.types.includes('Files')) e.preventDefault(); });
  area.addEventListener('drop', e => { const found = imagesOf(e.dataTransfer); if (found.length) { e.preventDefault(); send(found); } });
}
