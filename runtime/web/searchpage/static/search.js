// The page works without this script, which only copies text.
"use strict";

const said = document.getElementById("copied");

async function copy(button) {
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = said.textContent = "Copied";
  } catch { // the origin is not secure, or copying is not allowed: the person can use the keyboard
    getSelection().selectAllChildren(code);
    button.textContent = said.textContent = "Selected: copy it with the keyboard";
  }
  setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2500);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

document.documentElement.dataset.ready = "";
