// Blocks of code that scroll can be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("pre")) block.tabIndex = 0;
});
