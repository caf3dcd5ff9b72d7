// Starts the page: shows one of its four parts, passes live requests on, and says if none can come.

import { Follower } from "./api.js";
import { openAudit } from "./audit.js";
import { openDial } from "./dial.js";
import { attempt, clock, complain } from "./elements.js";
import { openKeys } from "./keys.js";
import { addLive, focusSearch, openRequests, startRequests } from "./requests.js";
import { openWho } from "./who.js";

const PAGES = { requests: openRequests, keys: openKeys, dial: openDial, audit: openAudit };
const TITLES = { requests: "Requests", keys: "Keys", dial: "Dial", audit: "Audit" };
const follower = new Follower();
const lost = document.getElementById("lost");
const banners = lost.parentElement;
const main = document.getElementById("main");
let shown = null;
let connection = "connecting";

async function show(before = null) {
  const [name, query] = location.hash.slice(1).split("?");
  shown = name in PAGES ? name : "requests";
  const stays = shown === before;
  for (const page of Object.keys(PAGES)) document.getElementById(`page-${page}`).hidden = page !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[shown]} · pondero`;
  await attempt(async () => {
    await openWho();
    await PAGES[shown](query ?? "", stays);
  });
}

function onState(state, message) {
  if (state === connection) return;
  const before = connection;
  connection = state;
  document.querySelector(".pulse").dataset.state = state === "live" ? "live" : "away";
  document.getElementById("pulse").textContent = state === "live" ? "live" : "not connected";
  lost.hidden = state !== "away";
  if (state === "away") {
    document.getElementById("lost-since").textContent = `What you see is from ${clock(Date.now() / 1000)} or earlier.`;
    document.getElementById("trouble").hidden = true;
  } else if (state === "rejected") {
    complain(message);
  } else if (before !== "connecting") {
    show();
  }
}

addEventListener("hashchange", () => {
  const before = shown;
  show(before);
  if (shown !== before) main.focus();
});
/** Put the banner where it can be seen and pressed: into the dialog that is open. */
function placeBanner() {
  const place = document.querySelector("dialog[open]") ?? banners;
  if (lost.parentElement !== place) place.prepend(lost);
}

for (const dialog of document.querySelectorAll("dialog")) new MutationObserver(placeBanner).observe(dialog, { attributeFilter: ["open"] });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names a page, not a place in it
  main.focus();
});
addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (shown === "requests") {
    event.preventDefault();
    focusSearch();
  }
});
document.getElementById("again").addEventListener("click", () => follower.hurry());
startRequests(follower);
show();
follower.run(addLive, onState);
