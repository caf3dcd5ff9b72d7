// The audit page: who changed what, newest first, with a filter and pages.

import { ask, download } from "./api.js";
import { attempt, disable, el, fullTime, shortTime } from "./elements.js";

const form = document.getElementById("audit-filters");
const list = document.getElementById("entries");
const NAMES = ["actor", "subject", "action", "outcome", "since", "until"];
const ACTIONS = { // what was done, and what was tried
  "key.create": ["created the key", "create the key"], "key.change": ["changed the key", "change the key"],
  "key.block": ["blocked the key", "block the key"], "key.unblock": ["unblocked the key", "unblock the key"],
  "key.remove": ["removed the key", "remove the key"], "config.reload": ["reloaded the configuration", "reload the configuration"],
  "secret.rotate": ["made a new secret", "make a new secret"], sign_in: ["signed in", "sign in"], sign_out: ["signed out", "sign out"],
  read: ["read", "read"],
};
const HOW = { key: "by key", local: "on this machine", oidc: "signed in" };
let places = []; // where each page before this one begins
let next = null;

export async function openAudit(query) {
  const given = new URLSearchParams(query);
  for (const name of NAMES) form.elements[name].value = given.get(name) ?? "";
  mark();
  places = [];
  await load();
}

/** Return the filters as the admin API takes them. */
function readQuery() {
  const query = new URLSearchParams();
  for (const [name, value] of filled()) {
    query.set(name, name === "since" || name === "until" ? String(new Date(value).getTime() / 1000) : value);
  }
  return query;
}

const filled = () => NAMES.map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value);

async function load() {
  const query = readQuery();
  if (places.length) query.set("before", places.at(-1));
  const page = await ask(`audit?${query}`);
  next = page.next;
  list.replaceChildren(...page.entries.map(entryItem));
  const none = document.getElementById("audit-none");
  none.hidden = page.entries.length > 0;
  none.textContent = filled().length ? "No entries match these filters." : "Nothing was changed yet. Every change of a key or of the configuration appears here.";
  const trouble = document.getElementById("audit-trouble");
  trouble.hidden = !page.problem;
  trouble.textContent = page.problem ? `Older entries are missing: ${page.problem}` : "";
  document.getElementById("audit-newer").disabled = places.length === 0;
  document.getElementById("audit-older").disabled = next === null;
  document.getElementById("audit-pager").hidden = places.length === 0 && next === null;
  document.getElementById("audit-place").textContent = `Page ${places.length + 1}`;
}

function entryItem(entry) {
  const bad = entry.outcome !== "done";
  return el("li", {}, el("details", { "data-action": entry.action },
    el("summary", {},
      el("time", { datetime: new Date(entry.at * 1000).toISOString() }, shortTime(entry.at)),
      el("span", { class: "deed" },
        entry.actor ? el("b", {}, entry.actor) : el("i", {}, "an unknown client"),
        ` ${deed(entry)} `, entry.subject ? el("code", {}, entry.subject) : null,
        !bad && entry.action === "config.reload" && entry.reason ? `: ${entry.reason}` : null),
      el("span", { class: bad ? "tag wrong" : "tag good" }, entry.outcome)),
    el("dl", { class: "facts-list" },
      ...fact("time", fullTime(entry.at)),
      ...fact("actor", [entry.actor || "unknown", entry.role && `role ${entry.role}`, HOW[entry.how]].filter(Boolean).join(", ")),
      ...fact("from", entry.address || "this machine"), ...fact("action", entry.action),
      ...(entry.reason ? fact("reason", entry.reason) : [])),
    changesTable(entry)));
}

function deed({ action, outcome }) {
  const [done, tried] = ACTIONS[action] ?? [action, action];
  return outcome === "done" ? done : `tried to ${tried}`;
}

const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];

/** Return the settings that differ, as they were and as they are. */
function changesTable({ before, after }) {
  const [old, now] = [before ?? {}, after ?? {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => write(old[name]) !== write(now[name]));
  if (!names.length) return null;
  return el("div", { class: "scroll-x", role: "group", tabindex: "0", "aria-label": "What changed" }, el("table", { class: "changes" },
    el("thead", {}, el("tr", {}, ...["setting", "before", "after"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...names.map((name) => el("tr", {},
      el("th", { scope: "row" }, name), el("td", {}, el("code", {}, write(old[name]))), el("td", {}, el("code", {}, write(now[name]))))))));
}

function write(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "object") return String(value);
  const set = Object.entries(value).filter(([, each]) => each !== null);
  if (Array.isArray(value)) return value.length ? value.map((each) => (typeof each === "object" ? JSON.stringify(each) : each)).join(", ") : "–";
  return set.length ? set.map(([name, each]) => `${name} ${typeof each === "object" ? JSON.stringify(each) : each}`).join(", ") : "–";
}

function mark() {
  disable(document.getElementById("audit-clear"), !filled().length, form.elements.actor);
  for (const name of NAMES) form.elements[name].classList.toggle("set", Boolean(form.elements[name].value));
}

async function changed() {
  mark();
  const query = new URLSearchParams(filled());
  history.replaceState(null, "", `#audit${query.size ? `?${query}` : ""}`);
  places = [];
  await attempt(load);
}

for (const [action, [, words]] of Object.entries(ACTIONS)) form.elements.action.append(el("option", { value: action }, words));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  changed();
});
form.addEventListener("change", changed);
form.addEventListener("reset", () => setTimeout(changed));
document.getElementById("audit-older").addEventListener("click", () => attempt(async () => {
  places.push(next);
  await load();
  list.querySelector("summary")?.focus();
}));
document.getElementById("audit-newer").addEventListener("click", () => attempt(async () => {
  places.pop();
  await load();
  list.querySelector("summary")?.focus();
}));
document.getElementById("audit-export").addEventListener("click", () => attempt(() => download(`audit.csv?${readQuery()}`, "pondero-audit.csv")));
