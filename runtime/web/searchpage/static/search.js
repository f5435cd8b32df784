// The page works without this: it only copies.
"use strict";

const said = document.getElementById("copied");

async function copy(button) {
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = said.textContent = "Copied";
  } catch { // not a secure origin, or not allowed: the person can press the keys
    getSelection().selectAllChildren(code);
    button.textContent = said.textContent = "Selected: copy it with the keyboard";
  }
  setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2500);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
