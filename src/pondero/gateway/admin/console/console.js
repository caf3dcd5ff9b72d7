// Starts the page: shows one of its four parts, passes live requests on, and says if none can come.

import { Follower } from "./api.js";
import { openAudit } from "./audit.js";
import { openDial } from "./dial.js";
import { attempt, clock } from "./elements.js";
import { openKeys } from "./keys.js";
import { addLive, focusSearch, openRequests, startRequests } from "./requests.js";
import { openWho } from "./who.js";

const PAGES = { requests: openRequests, keys: openKeys, dial: openDial, audit: openAudit };
const TITLES = { requests: "Requests", keys: "Keys", dial: "Dial", audit: "Audit" };
const follower = new Follower();
const lost = document.getElementById("lost");
let shown = null;

async function show() {
  const [name, query] = location.hash.slice(1).split("?");
  shown = name in PAGES ? name : "requests";
  for (const page of Object.keys(PAGES)) document.getElementById(`page-${page}`).hidden = page !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[shown]} · pondero`;
  await attempt(async () => {
    await openWho();
    await PAGES[shown](query ?? "");
  });
}

function onState(state) {
  const wasLost = !lost.hidden;
  document.querySelector(".pulse").dataset.state = state;
  document.getElementById("pulse").textContent = state === "live" ? "live" : "not connected";
  if (state === "live") {
    lost.hidden = true;
    if (wasLost) show();
  } else if (!wasLost) {
    document.getElementById("lost-since").textContent = `What you see is from ${clock(Date.now() / 1000)} or earlier.`;
    document.getElementById("trouble").hidden = true;
    lost.hidden = false;
  }
}

addEventListener("hashchange", () => {
  show();
  document.getElementById("main").focus();
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
