// Blocks of code that scroll can be reached by the keyboard; headings of the menu have a level.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("pre")) block.tabIndex = 0;
  for (const heading of document.querySelectorAll("[role=heading]")) heading.ariaLevel = "2";
});
