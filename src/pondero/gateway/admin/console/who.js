// Shows who uses the console, and hides from viewers what they may not do; the gateway refuses it anyway.

import { ask, signOut } from "./api.js";
import { attempt } from "./elements.js";

const place = document.getElementById("who");
let actor = null;
let offline = false;

/** Ask the gateway who this is, and show it. */
export async function openWho() {
  ({ actor, offline } = await ask("session"));
  place.hidden = actor.how === "local";
  document.getElementById("who-name").textContent = actor.name;
  document.getElementById("who-role").textContent = actor.role;
  document.body.dataset.role = actor.role;
  return actor;
}

/** Return whether the emulator answers in place of the services. */
export const isOffline = () => offline;

/** Return whether this person may change anything. */
export const mayChange = () => actor?.role === "admin";

document.getElementById("sign-out").addEventListener("click", () => attempt(signOut));
