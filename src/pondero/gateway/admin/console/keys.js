// The keys page: lists keys and groups with their rules and quotas, and creates, changes, blocks and removes them.

import { ask } from "./api.js";
import { LEVELS, attempt, compact, complain, copy, el, formatCost } from "./elements.js";
import { mayChange } from "./who.js";

const form = document.getElementById("make");
const reach = document.getElementById("make-endpoints");
const wrong = document.getElementById("make-wrong");
const CHECKS = ["admin", "metrics", "account_state"];
const WORDS = { requests: "requests", tokens: "tokens", thinking_tokens: "thinking tokens", money: "dollars" };

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
}

function drawGroups(groups) {
  document.getElementById("groups-section").hidden = groups.length === 0;
  document.getElementById("make-group").hidden = groups.length === 0;
  document.getElementById("groups").replaceChildren(...groups.map(groupCard));
  for (const { name } of groups) {
    if (![...form.elements.group.options].some((each) => each.value === name)) form.elements.group.append(el("option", {}, name));
  }
}

/** Offer the names of endpoints; a form that is being filled in keeps its choice. */
function offerEndpoints(names) {
  if (reach.querySelector("input")) return;
  reach.append(...names.map((name) => el("label", { class: "check" }, el("input", { type: "checkbox", name: "endpoints", value: name }), ` ${name}`)));
}

const drawReach = () => (reach.hidden = form.elements.reach.value !== "some");

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
      ...fact("models", key.models.length ? key.models.join(", ") : "all"),
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
let begun = {}; // its settings, as the form showed them first

function edit(key) {
  cancel();
  edited = key.name;
  const { elements } = form;
  const values = {
    name: key.name, group: key.group, models: key.models.join(", "), ...key.thinking,
    requests: key.limit?.requests, limit_tokens: key.limit?.tokens, limit_per: key.limit?.per,
    cost: key.budget?.cost, tokens: key.budget?.tokens, thinking_tokens: key.budget?.thinking_tokens, per: key.budget?.per,
    expires: key.expires && new Date(key.expires).toISOString().slice(0, 16),
  };
  for (const [name, value] of Object.entries(values)) if (value) setField(elements[name], String(value));
  for (const name of CHECKS) elements[name].checked = key[name];
  elements.reach.value = key.endpoints === null ? "" : key.endpoints.length ? "some" : "none";
  for (const each of reach.querySelectorAll("input")) each.checked = key.endpoints?.includes(each.value) ?? false;
  drawReach();
  begun = readForm();
  elements.name.readOnly = true;
  document.getElementById("make-title").textContent = `Edit the key ${key.name}`;
  document.getElementById("make-submit").textContent = "Save";
  document.getElementById("make-cancel").hidden = false;
  form.scrollIntoView({ block: "nearest" });
  elements.models.focus();
}

function setField(field, value) {
  // A level may be a number of tokens, or auto.
  if (field.options && ![...field.options].some((each) => each.value === value)) field.append(el("option", {}, value));
  field.value = value;
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
  wrong.hidden = true;
  form.elements.name.readOnly = false;
  document.getElementById("make-title").textContent = "Create a key";
  document.getElementById("make-submit").textContent = "Create key";
  document.getElementById("make-cancel").hidden = true;
}

/** Return the form as `[[key]]` has it; null is the default. */
function readForm() {
  const values = Object.fromEntries(new FormData(form));
  const whole = (name) => (values[name] ? Number(values[name]) : null);
  const some = (record, per) => (Object.values(record).some((value) => value !== null) ? { ...record, per } : null);
  return {
    group: values.group || null,
    models: values.models.split(/[\s,]+/).filter(Boolean),
    endpoints: values.reach ? [...reach.querySelectorAll(":checked")].filter(() => values.reach === "some").map((each) => each.value) : null,
    thinking: Object.fromEntries(["default", "floor", "cap", "force"].map((name) => [name, values[name] || null])),
    limit: some({ requests: whole("requests"), tokens: whole("limit_tokens") }, values.limit_per),
    budget: some({ cost: whole("cost"), tokens: whole("tokens"), thinking_tokens: whole("thinking_tokens") }, values.per),
    expires: values.expires ? `${values.expires}Z` : null,
    ...Object.fromEntries(CHECKS.map((name) => [name, values[name] === "on"])),
  };
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  wrong.hidden = true;
  try {
    if (edited !== null) {
      // Only what was changed here: someone else may have changed the rest meanwhile.
      const body = Object.fromEntries(Object.entries(readForm()).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(begun[name])));
      if (Object.keys(body).length) await ask(`keys/${encodeURIComponent(edited)}`, { method: "PATCH", body });
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
form.addEventListener("reset", () => setTimeout(drawReach)); // after the fields have changed
form.elements.reach.addEventListener("change", drawReach);
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
for (const select of form.querySelectorAll("[data-levels]")) {
  select.append(el("option", { value: "" }, select.dataset.levels), ...LEVELS.map((level) => el("option", {}, level)));
}
