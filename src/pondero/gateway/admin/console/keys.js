// The keys page: lists keys and groups with their rules and quotas, and creates, changes, blocks and removes them.

import { ask } from "./api.js";
import { attempt, compact, complain, copy, el, formatCost } from "./elements.js";
import { beginEdit, findEdits, form, mergeEdits, offerEndpoints, readForm, readRevision } from "./key_form.js";
import { mayChange } from "./who.js";

const wrong = document.getElementById("make-wrong");
const changed = document.getElementById("make-changed");
const TRIES = 5; // others may change a key again and again
const WORDS = { requests: "requests", tokens: "tokens", thinking_tokens: "thinking tokens", money: "dollars" };

/** Show all keys and groups, and return the keys. */
export async function openKeys() {
  const [{ keys, guarded, endpoints }, { groups }] = await Promise.all([ask("keys"), ask("groups")]);
  drawGroups(groups);
  offerEndpoints(endpoints);
  form.hidden = document.getElementById("make-go").hidden = !mayChange();
  document.getElementById("keys-note").textContent = !mayChange()
    ? "You are a viewer: you see the keys, and change nothing."
    : guarded
    ? "Only people who are signed in see this page."
    : "Every program and user of this machine can use this page; other machines cannot. Create an admin key to restrict it.";
  if (edited !== null && !keys.some((key) => key.name === edited)) {
    const gone = edited;
    cancel();
    complain(`the key ${gone} is gone, and so is its form`);
  }
  document.getElementById("key-list").replaceChildren(
    ...keys.map(keyCard),
    ...(keys.length ? [] : [el("li", { class: "none" }, el("strong", {}, "No keys yet: every local client can send requests."), " Once you create a key, every client needs one.")]),
  );
  return keys;
}

function drawGroups(groups) {
  document.getElementById("groups-section").hidden = groups.length === 0;
  document.getElementById("make-group").hidden = groups.length === 0;
  document.getElementById("groups").replaceChildren(...groups.map(groupCard));
  for (const { name } of groups) {
    if (![...form.elements.group.options].some((each) => each.value === name)) form.elements.group.append(el("option", {}, name));
  }
}

function groupCard(group) {
  return el("li", { class: "card", "data-group": group.name },
    el("div", { class: "line" }, el("h3", {}, group.name)),
    el("dl", { class: "facts" },
      ...fact("keys", group.keys.length ? group.keys.join(", ") : "none"), ...fact("level rules", formatRules(group.thinking))),
    group.bounds.length ? el("ul", { class: "bounds" }, ...group.bounds.map(quotaLine)) : null);
}

function keyCard(key) {
  const state = key.blocked ? "blocked" : hasExpired(key) ? "expired" : key.has_room ? "active" : "no room";
  const lines = [...key.bounds.map(quotaLine), ...key.without_room.map(fullLine), ...key.lowered.map(loweredLine)];
  return el("li", { class: key.blocked || hasExpired(key) ? "card blocked" : "card", "data-key": key.name },
    el("div", { class: "line" },
      el("h2", {}, key.name), el("span", { class: state === "active" ? "tag good" : "tag wrong" }, state),
      key.admin ? el("span", { class: "tag" }, "admin") : null, key.metrics ? el("span", { class: "tag" }, "metrics") : null,
      mayChange() ? el("span", { class: "acts" },
        key.made_here ? el("button", { type: "button", class: "quiet", onclick: () => edit(key) }, "Edit") : null,
        el("button", { type: "button", class: "quiet block", onclick: () => block(key) }, key.blocked ? "Unblock" : "Block"),
        key.made_here ? el("button", { type: "button", class: "quiet danger", onclick: () => remove(key) }, "Remove") : null) : null),
    el("dl", { class: "facts" },
      ...(key.group ? fact("group", key.group) : []),
      ...fact("models", key.models === null ? "all" : key.models.join(", ") || "none"),
      ...(key.endpoints ? fact("other endpoints", key.endpoints.join(", ") || "none") : []),
      ...fact("level rules", formatRules(key.thinking)),
      ...(key.expires ? fact(hasExpired(key) ? "expired" : "expires", formatTime(key.expires)) : []),
      ...fact("from", key.made_here ? "this console, or the admin API" : "gateway.toml")),
    lines.length ? el("ul", { class: "bounds" }, ...lines) : null);
}

const hasExpired = (key) => Boolean(key.expires) && new Date(key.expires) <= new Date();
// In UTC, like a time without an offset in gateway.toml.
const formatTime = (time) => `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
const fact = (name, value) => [el("div", {}, el("dt", {}, name), " ", el("dd", {}, value))];

function formatRules(rules) {
  const words = [["force", "always "], ["default", "default level "], ["floor", "minimum level "], ["cap", "maximum level "]];
  return words.filter(([name]) => rules[name]).map(([name, word]) => word + rules[name]).join(", ") || "no limit";
}

const fullLine = (limit) => el("li", {}, `no room for an answer of ${limit.model} in ${budgetOf(limit)}`);

function loweredLine(limit) {
  return el("li", {}, `${budgetOf(limit)} covers answers of ${compact(limit.max_tokens)} tokens on ${limit.model}; longer ones are shortened`);
}

const budgetOf = ({ holder }) => (holder.startsWith("group ") ? `the budget of the ${holder}` : "its budget");

function quotaLine(bound) {
  const amount = bound.unit === "money" ? formatCost : compact;
  const share = Math.min(1, bound.taken / bound.most);
  const meter = el("span", { class: share > 0.9 ? "meter full" : "meter", "aria-hidden": "true" }, el("i"));
  meter.firstChild.style.width = `${share * 100}%`;
  const unit = bound.unit === "money" ? "" : ` ${WORDS[bound.unit]}`;
  return el("li", {}, el("span", {}, `${amount(bound.taken)} of ${amount(bound.most)}${unit} ${bound.rolling ? `in any ${bound.per}` : bound.per === "day" ? "today" : `this ${bound.per}`}`), meter);
}

// -- changes --------------------------------------------------------------------------------------

async function block(key) {
  await change(() => ask(`keys/${encodeURIComponent(key.name)}`, { method: "PATCH", body: { blocked: !key.blocked } }));
  focusCard(key.name, ".block");
}

async function remove(key) {
  const sure = document.getElementById("sure");
  document.getElementById("sure-name").textContent = key.name;
  sure.returnValue = "no";
  sure.showModal();
  await new Promise((done) => sure.addEventListener("close", done, { once: true }));
  if (sure.returnValue !== "yes") return;
  const card = findCard(key.name);
  const near = card?.nextElementSibling ?? card?.previousElementSibling;
  await change(() => ask(`keys/${encodeURIComponent(key.name)}`, { method: "DELETE" }));
  focusCard(findCard(key.name) ? key.name : near?.dataset.key);
}

/** Change a key, and show the keys as they are now, also if it failed. */
async function change(act) {
  await attempt(async () => {
    try {
      await act();
    } finally {
      await openKeys();
    }
  });
}

let edited = null; // the name of the key in the form, unless it creates one

function edit(key) {
  cancel();
  edited = key.name;
  beginEdit(key);
  form.elements.name.readOnly = true;
  document.getElementById("make-title").textContent = `Edit the key ${key.name}`;
  document.getElementById("make-submit").textContent = "Save";
  document.getElementById("make-cancel").hidden = false;
  form.scrollIntoView({ block: "nearest" });
  form.elements.models.focus();
}

/** Save what was changed in the form; return whether it is saved, or someone else's change comes first. */
async function save() {
  for (let tries = 0; tries < TRIES; tries++) {
    const body = findEdits();
    if (!Object.keys(body).length) return true;
    try {
      await ask(`keys/${encodeURIComponent(edited)}`, { method: "PATCH", body: { ...body, revision: readRevision() } });
      return true;
    } catch (error) {
      if (error.status !== 409) throw error;
      const now = (await openKeys()).find((key) => key.name === edited);
      if (!now || now.revision === readRevision()) throw error;
      const { changes, collides } = mergeEdits(now);
      if (collides) return showChanges(changes);
    }
  }
  throw new Error("others keep changing this key; try again");
}

/** Show what someone else changed in this key; the form has it too, and keeps what was entered. */
function showChanges(changes) {
  document.getElementById("make-changes").replaceChildren(...changes.map(({ label, before, now, mine }) => el("li", {},
    el("b", {}, label), `: ${now}, before ${before}`, mine === null ? null : el("span", {}, `; you entered ${mine}`))));
  changed.hidden = false;
  document.getElementById("make-submit").scrollIntoView({ block: "nearest" });
  changed.focus();
  return false;
}

/** Close the form of a key, and return to the key. */
function leave() {
  const name = edited;
  cancel();
  focusCard(name);
}

/** Focus a button of a key, or the page if the key is gone. */
function focusCard(name, button = "button") {
  (findCard(name)?.querySelector(button) ?? document.getElementById("main")).focus();
}

const findCard = (name) => [...document.querySelectorAll("#key-list > li")].find((each) => each.dataset.key === name);

function cancel() {
  edited = null;
  form.reset();
  wrong.hidden = changed.hidden = true;
  form.elements.name.readOnly = false;
  document.getElementById("make-title").textContent = "Create a key";
  document.getElementById("make-submit").textContent = "Create key";
  document.getElementById("make-cancel").hidden = true;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  wrong.hidden = changed.hidden = true;
  try {
    if (edited !== null) {
      if (!(await save())) return;
      await openKeys();
      leave();
    } else {
      const { name, key } = await ask("keys", { method: "POST", body: { name: form.elements.name.value, ...readForm() } });
      form.reset();
      await showKey(name, key);
      await openKeys();
    }
  } catch (error) {
    wrong.textContent = error.message;
    wrong.hidden = false;
    await openKeys().catch(() => {}); // the key may be gone, or have changed
  }
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && edited !== null) leave();
});
document.getElementById("make-cancel").addEventListener("click", leave);
document.getElementById("make-go").addEventListener("click", () => {
  cancel();
  form.scrollIntoView();
  form.elements.name.focus();
});

async function showKey(name, key) {
  const dialog = document.getElementById("made");
  const text = document.getElementById("made-key");
  document.getElementById("made-name").textContent = name;
  text.textContent = key;
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  text.textContent = "";
}

document.getElementById("made-copy").addEventListener("click", (event) => copy(document.getElementById("made-key"), event.target));
