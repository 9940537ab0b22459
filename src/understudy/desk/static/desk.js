"use strict";
/* Forms are sent and pages followed without a reload: the answer's <main> takes the place of this
   one, and what had the focus keeps it. Without this script everything works by plain forms. */

const main = () => document.getElementById("main");
let latest = 0;

function show(text, address, kept) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const next = page.getElementById("main");
  if (!next) { window.location.assign("/"); return; }
  const id = kept ? document.activeElement && document.activeElement.id : "";
  const opened = kept ? [...document.querySelectorAll("main details")].map((d) => d.open) : [];
  const moved = main().className !== next.className, down = (document.getElementById("outlook") || {}).scrollTop;
  document.title = page.title;
  document.querySelector("header").replaceWith(page.querySelector("header"));
  main().replaceWith(next);
  if (kept) [...document.querySelectorAll("main details")].forEach((d, k) => { if (opened[k]) d.open = true; });
  if (kept && down) document.getElementById("outlook").scrollTop = down;
  const held = id && document.getElementById(id);
  if (held) held.focus({ preventScroll: true });
  else main().focus({ preventScroll: true });
  if (moved && !kept) window.scrollTo(0, 0);
  if (address && address !== window.location.href) window.history.pushState(null, "", address);
  watch();
}

async function follow(address, options, kept) {
  const mine = ++latest;
  main().setAttribute("aria-busy", "true");
  const answer = await fetch(address, { credentials: "same-origin", ...options });
  const text = await answer.text();
  if (mine !== latest) return;
  if (!(answer.headers.get("content-type") || "").startsWith("text/html")) {
    main().removeAttribute("aria-busy");
    const said = document.createElement("p");
    said.className = "refusal";
    said.textContent = text;
    document.getElementById("said").replaceChildren(said);
    return;
  }
  show(text, kept ? "" : answer.url, kept);
}

function send(form, wanted, kept) {
  const fields = new URLSearchParams(new FormData(form));
  if (wanted) fields.set("do", wanted);
  const csrf = document.querySelector("meta[name=csrf]").content;
  return follow(form.action, { method: "POST", body: fields, headers: { "X-CSRF": csrf } }, kept);
}

let waiting = 0, wished = "", busy = false;
document.addEventListener("submit", async (event) => {
  let form = event.target;
  if (form.getAttribute("action") === "/end") return;
  event.preventDefault();
  const wanted = event.submitter && event.submitter.value;
  if (busy) return;
  busy = true;
  try {
    if (waiting) { // what was moved last comes first
      clearTimeout(waiting);
      waiting = 0;
      await send(form, wished, true);
      form = document.querySelector("form[data-live]") || form;
    }
    main().inert = true; // nothing is typed into a page that is about to go
    await send(form, wanted, false);
  } finally { busy = false; main().inert = false; }
});

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (busy || !form || !form.dataset.live || "still" in event.target.dataset) return;
  clearTimeout(waiting);
  wished = event.target.dataset.do || form.dataset.live;
  waiting = setTimeout(() => { waiting = 0; send(form, wished, true); }, 100);
});

document.addEventListener("click", (event) => {
  const tick = event.target.closest("[data-tick]");
  if (tick) { document.querySelectorAll("input[name=tick]").forEach((box) => { box.checked = true; }); return; }
  const link = event.target.closest("main a, nav a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.origin !== window.location.origin) return;
  event.preventDefault();
  follow(link.href, {}, false).then(() => {
    const here = link.id && document.getElementById(link.id), card = document.querySelector(".card");
    if (here) here.focus({ preventScroll: Boolean(card) });
    if (here && card) card.scrollIntoView({ block: "nearest" }); // on a phone it stands below the list
  });
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll(".columns a")];
    const at = rows.findIndex((row) => row.hasAttribute("aria-current"));
    const next = rows[at + (event.key === "j" ? 1 : -1)];
    if (next) next.click();
    return;
  }
  const found = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!found) return;
  event.preventDefault();
  const folded = found.closest("details");
  if (folded) folded.open = true;
  if (found.tagName === "BUTTON") found.click(); else found.focus();
});

window.addEventListener("popstate", () => follow(window.location.href, {}, true));

let source = null;
function watch() {
  const run = document.querySelector("[data-events]");
  if (source) { source.close(); source = null; }
  if (!run) return;
  const own = source = new EventSource(run.dataset.events);
  own.onmessage = (event) => {
    const told = JSON.parse(event.data);
    const stage = document.getElementById("stage");
    if (stage && told.stage) stage.textContent = told.stage;
    if (!told.active) { own.close(); if (!busy) follow(window.location.href, {}, true); }
  };
}
watch();
