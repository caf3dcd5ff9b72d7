// The form of a key: shows its settings, says which of them were edited, and merges the edits with changes of others.

import { LEVELS, el } from "./elements.js";

export const form = document.getElementById("make");
const reach = document.getElementById("make-endpoints");
const CHECKS = ["admin", "metrics", "account_state"];
let begun = null; // the key that is edited: its revision, and its settings and fields as the form showed them first

/** Show the settings of a key, to edit them. */
export function beginEdit(key) {
  fill(key);
  begun = { revision: key.revision, settings: readForm(), fields: readFields() };
}

export const readRevision = () => begun.revision;

/** Return the settings that were edited: someone else may have changed the others meanwhile. */
export function findEdits() {
  return Object.fromEntries(Object.entries(readForm()).filter(([name, value]) => !isSame(value, begun.settings[name])));
}

/** Show a key as someone else changed it meanwhile, with the fields that were edited here on top.

 * Return each field that was changed, and whether one of the settings that were edited here is among them. */
export function mergeEdits(key) {
  const [{ settings, fields }, edits, mine] = [begun, findEdits(), readFields()];
  beginEdit(key);
  const theirs = begun.fields;
  const collides = Object.keys(edits).some((name) => !isSame(begun.settings[name], settings[name]) && !isSame(begun.settings[name], edits[name]));
  const edited = [...mine.keys()].filter((name) => mine.get(name) !== fields.get(name));
  for (const name of edited) setField(name, mine.get(name));
  drawReach();
  const changes = [...theirs.keys()].filter((name) => theirs.get(name) !== fields.get(name)).map((name) => ({
    label: labelOf(name),
    before: describe(name, fields.get(name)),
    now: describe(name, theirs.get(name)),
    mine: edited.includes(name) && mine.get(name) !== theirs.get(name) ? describe(name, mine.get(name)) : null,
  }));
  return { changes, collides };
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Offer the names of endpoints; a form that is being filled in keeps its choice. */
export function offerEndpoints(names) {
  if (reach.querySelector("input")) return;
  reach.append(...names.map((name) => el("label", { class: "check" }, el("input", { type: "checkbox", name: "endpoints", value: name }), ` ${name}`)));
}

function fill(key) {
  form.reset();
  const values = {
    name: key.name, group: key.group, models: key.models?.join(", "), no_models: key.models?.length === 0 ? "yes" : "no", ...key.thinking,
    requests: key.limit?.requests, limit_tokens: key.limit?.tokens, limit_per: key.limit?.per,
    cost: key.budget?.cost, tokens: key.budget?.tokens, thinking_tokens: key.budget?.thinking_tokens, per: key.budget?.per,
    expires: key.expires && new Date(key.expires).toISOString().slice(0, 16),
    reach: key.endpoints === null ? "" : key.endpoints.length ? "some" : "none", endpoints: key.endpoints?.join(", "),
    ...Object.fromEntries(CHECKS.map((name) => [name, key[name] ? "yes" : "no"])),
  };
  for (const [name, value] of Object.entries(values)) if (value) setField(name, String(value));
  drawReach();
}

/** Return each field as text, by its name. */
function readFields() {
  const found = new Map();
  for (const field of form.elements) {
    if (!field.name || field.name === "name") continue;
    if (field.name === "endpoints") found.set("endpoints", [...reach.querySelectorAll(":checked")].map((each) => each.value).join(", "));
    else found.set(field.name, field.type === "checkbox" ? (field.checked ? "yes" : "no") : field.value);
  }
  return found;
}

function setField(name, value) {
  const field = form.elements[name];
  if (name === "endpoints") {
    for (const each of reach.querySelectorAll("input")) each.checked = value.split(", ").includes(each.value);
  } else if (field.type === "checkbox") {
    field.checked = value === "yes";
  } else {
    // A level may be a number of tokens, or auto.
    if (field.options && ![...field.options].some((each) => each.value === value)) field.append(el("option", {}, value));
    field.value = value;
  }
}

function labelOf(name) {
  if (name === "endpoints") return "Endpoints";
  const field = form.elements[name];
  const label = field.labels[0].textContent.trim();
  const own = field.options ? field.labels[0].firstChild.textContent.trim() : label;
  const legend = field.closest("fieldset")?.querySelector("legend").textContent;
  return legend ? `${legend}, ${own.toLowerCase()}` : own;
}

/** Return the value of a field in words; an empty one says what holds then. */
function describe(name, value) {
  const field = form.elements[name];
  if (field.options) return [...field.options].find((each) => each.value === value)?.textContent ?? value;
  return value || field.placeholder?.split(";")[0] || "none";
}

/** Show the fields that a choice needs. */
function drawReach() {
  reach.hidden = form.elements.reach.value !== "some";
  form.elements.models.disabled = form.elements.no_models.checked;
}

/** Return the names of models in a field; null if it has none, which means all. */
function listModels(text) {
  const names = text.split(/[\s,]+/).filter(Boolean);
  return names.length ? names : null;
}

/** Return the form as `[[key]]` has it; null is the default. */
export function readForm() {
  const values = Object.fromEntries(new FormData(form));
  const whole = (name) => (values[name] ? Number(values[name]) : null);
  const some = (record, per) => (Object.values(record).some((value) => value !== null) ? { ...record, per } : null);
  return {
    group: values.group || null,
    models: values.no_models ? [] : listModels(values.models),
    endpoints: values.reach ? [...reach.querySelectorAll(":checked")].filter(() => values.reach === "some").map((each) => each.value) : null,
    thinking: Object.fromEntries(["default", "floor", "cap", "force"].map((name) => [name, values[name] || null])),
    limit: some({ requests: whole("requests"), tokens: whole("limit_tokens") }, values.limit_per),
    budget: some({ cost: whole("cost"), tokens: whole("tokens"), thinking_tokens: whole("thinking_tokens") }, values.per),
    expires: values.expires ? `${values.expires}Z` : null,
    ...Object.fromEntries(CHECKS.map((name) => [name, values[name] === "on"])),
  };
}

form.addEventListener("reset", () => setTimeout(drawReach)); // after the fields have changed
form.elements.reach.addEventListener("change", drawReach);
form.elements.no_models.addEventListener("change", drawReach);
for (const select of form.querySelectorAll("[data-levels]")) {
  select.append(el("option", { value: "" }, select.dataset.levels), ...LEVELS.map((level) => el("option", {}, level)));
}
