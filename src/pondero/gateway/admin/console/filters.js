// The filters above the table: the form, the address of the page, and the query of the admin API.

import { LEVELS, disable, el } from "./elements.js";

const form = document.getElementById("filters");
const NAMES = ["search", "key", "group", "model", "outcome", "level", "purpose", "answers", "since", "until"];
const ANSWERS = { real: "of services", emulator: "of the emulator", all: "all" };
const ENDS = { done: "answered", refused: "rejected", failed: "failed", left: "client left" };
const CURSOR = /^\d[\d.e+-]*_[ -~]{0,100}$/; // as the admin API has it
const MOST = 100_000; // pages; an address may have any number
const PAUSE = 250; // milliseconds after a key before a search begins
let onChange = () => {};
let timer = null;
let cursors = [null]; // where each page of the table begins, up to the one that is shown; null: the newest, or unknown
const spans = [...document.querySelectorAll("input[name=span]")];
const statusGroup = el("optgroup", { label: "HTTP status" });

/** Return what a request's end is called. */
export const endWord = (end) => ENDS[end] ?? end;

/** Call a function after each change of a filter. */
export function startFilters(changed) {
  onChange = changed;
  form.elements.outcome.append(
    el("optgroup", { label: "outcome" }, ...Object.entries(ENDS).map(([end, word]) => el("option", { value: `end=${end}` }, word))),
    statusGroup);
  for (const level of LEVELS) option("level", level);
  option("level", "tokens", "a number of tokens");
  option("level", "none", "nothing");
}

/** Offer whose answers to show; those that this gateway gives are the default. */
export function offerAnswers(isOffline) {
  form.elements.answers.options[0].textContent = ANSWERS[isOffline ? "emulator" : "real"];
  for (const whose of [isOffline ? "real" : "emulator", "all"]) option("answers", whose, ANSWERS[whose]);
}

/** Return whose answers are shown, as the admin API takes it. */
export const readAnswers = () => form.elements.answers.value;

/** Offer values; one that is chosen and does not occur any more stays. */
export function offer({ keys, groups, models, statuses, purposes }) {
  for (const key of keys) option("key", key);
  for (const group of groups) option("group", group);
  for (const model of models) option("model", model);
  for (const purpose of purposes) option("purpose", purpose);
  for (const status of statuses) option("outcome", `status=${status}`);
}

function option(name, value, text = value) {
  if ([...form.elements[name].options].some((each) => each.value === value)) return;
  const status = name === "outcome" && readOutcome(value).get("status");
  (status ? statusGroup : form.elements[name]).append(el("option", { value }, status ? describeOutcome(value) : text));
}

const readOutcome = (value) => new URLSearchParams(value);

/** Return an outcome in words: "429", or "rejected 429" if only one end of this status is meant. */
function describeOutcome(value) {
  const { end, status } = Object.fromEntries(readOutcome(value));
  return end ? `${endWord(end)} ${status}` : status;
}

const isOutcome = (value) => [...readOutcome(value)].every(([name, each]) => ["end", "status"].includes(name) && each);

/** Return the filters as the admin API takes them. */
export function readQuery() {
  const query = new URLSearchParams();
  for (const [name, value] of filled()) {
    if (name === "outcome") for (const pair of readOutcome(value)) query.set(...pair);
    else if (name === "since" || name === "until") query.set(name, String(new Date(value).getTime() / 1000));
    else query.set(name, value);
  }
  return query;
}

/** Return whether there is a filter. */
export const isFiltered = () => filled().length > 0;

const filled = () => NAMES.map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value);

/** Set the filters, the time span and the page that the address has; return whether any differs. */
export function readAddress(text) {
  const before = describe().toString();
  const given = new URLSearchParams(text);
  cursors = findCursors(Number(given.get("page")), given.get("before") ?? "");
  for (const name of NAMES) {
    const text = given.get(name) ?? "";
    const value = name === "outcome" && !isOutcome(text) ? "" : text;
    if (value && form.elements[name].options) option(name, value, name === "answers" ? ANSWERS[value] ?? value : value);
    form.elements[name].value = value;
  }
  (spans.find((each) => each.value === given.get("span")) ?? spans.find((each) => each.defaultChecked)).checked = true;
  mark();
  return describe().toString() !== before;
}

/** Return where the pages begin, up to one of this number; only this browser tab knows those before it. */
function findCursors(number, cursor) {
  if (!Number.isInteger(number) || number < 2 || number > MOST || !CURSOR.test(cursor)) return [null];
  const known = history.state?.cursors;
  return known?.length === number && known.at(-1) === cursor ? known : [...Array(number - 1).fill(null), cursor];
}

/** Return the filters, the time span and the page as the address has them. */
function describe() {
  const query = new URLSearchParams(filled());
  const span = spans.find((each) => each.checked);
  if (!span.defaultChecked) query.set("span", span.value);
  if (cursors.length > 1) {
    query.set("page", String(cursors.length));
    query.set("before", cursors.at(-1));
  }
  return query;
}

export const readCursors = () => cursors;

/** Put the page that is shown into the address; Back returns to the one before, unless a request is open. */
export function writeCursors(pages) {
  if (pages.length === cursors.length && pages.at(-1) === cursors.at(-1)) return;
  cursors = pages;
  const [query, request] = [describe(), readRequest()];
  if (request === null) return history.pushState({ cursors }, "", write(query));
  query.set("request", request);
  history.replaceState({ cursors }, "", write(query));
}

const write = (query) => `#requests${query.size ? `?${query}` : ""}`;

/** Return the id of the request that the address of the page has; null without one. */
export const readRequest = () => new URLSearchParams(location.hash.split("?")[1]).get("request");

/** Put the request that is open into the address; Back closes it. */
export function writeRequest(id) {
  const query = describe();
  query.set("request", id);
  if (readRequest() === null) history.pushState({ opened: true, cursors }, "", write(query));
  else history.replaceState(history.state, "", write(query));
}

/** Take the request that was closed out of the address. */
export function leaveRequest() {
  if (readRequest() === null) return; // Back did
  if (history.state?.opened) history.back();
  else history.replaceState({ cursors }, "", write(describe()));
}

/** Set one filter, or clear it if it has this value. */
export function toggle(name, value) {
  if (form.elements[name].options) option(name, value);
  form.elements[name].value = form.elements[name].value === value ? "" : value;
  changed();
}

/** Show the requests of a time span only. */
export function setTime(since, until) {
  form.elements.since.value = localTime(since);
  form.elements.until.value = localTime(until);
  changed();
}

/** Return whether a filter has a value. */
export const isChosen = (name, value) => form.elements[name].value === value;

function localTime(at) {
  const when = new Date(at * 1000);
  return new Date(when.getTime() - when.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function mark() {
  disable(document.getElementById("clear"), !isFiltered(), form.elements.search);
  for (const name of NAMES) form.elements[name].classList.toggle("set", Boolean(form.elements[name].value));
}

/** Show what the filters want; Back returns to the filters before, but not to each letter of a search. */
function changed({ typing = false } = {}) {
  clearTimeout(timer);
  mark();
  cursors = [null];
  const place = write(describe());
  if (typing) history.replaceState(null, "", place);
  else if (place !== location.hash) history.pushState(null, "", place);
  onChange();
}

export function focusSearch() {
  form.elements.search.focus();
  form.elements.search.select();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  changed();
});
form.addEventListener("reset", () => setTimeout(changed));
for (const span of spans) span.addEventListener("change", () => changed());
form.addEventListener("change", (event) => {
  if (event.target.name !== "search") changed();
});
form.elements.search.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => changed({ typing: true }), PAUSE);
});
form.elements.search.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !form.elements.search.value) return;
  event.preventDefault();
  form.elements.search.value = "";
  changed();
});
