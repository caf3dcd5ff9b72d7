// Starts the page: shows one of its three parts and passes live requests on.

import { follow } from "./api.js";
import { openDial } from "./dial.js";
import { openKeys } from "./keys.js";
import { openRequests, addRows } from "./requests.js";

const PAGES = { requests: openRequests, keys: openKeys, dial: openDial };
const TITLES = { requests: "Requests", keys: "Keys", dial: "Dial" };

async function show() {
  const name = location.hash.slice(1) in PAGES ? location.hash.slice(1) : "requests";
  for (const page of Object.keys(PAGES)) document.getElementById(`page-${page}`).hidden = page !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[name]} · pondero`;
  const trouble = document.getElementById("trouble");
  try {
    await PAGES[name]();
    trouble.hidden = true;
  } catch (error) {
    trouble.textContent = error.message;
    trouble.hidden = false;
  }
}

function pulse(state) {
  document.querySelector(".pulse").dataset.state = state;
  document.getElementById("pulse").textContent = state === "live" ? "live" : "reconnecting";
}

addEventListener("hashchange", () => {
  show();
  document.getElementById("main").focus();
});
show();
follow(addRows, pulse);
