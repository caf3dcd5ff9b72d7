// The table of requests: pages over the whole ledger, live rows on the first of them, and the keyboard.

import { ask } from "./api.js";
import { closeDetail, isDetailOpen, onDetailClosed, openDetail } from "./detail.js";
import { attempt, disable, el, formatCost, ladder, number, seconds, shortTime, tokens, unseen } from "./elements.js";
import { endWord, isFiltered, leaveRequest, readCursors, readQuery, writeCursors, writeRequest } from "./filters.js";

const PAGE = 50;
const SEARCH = 3000; // milliseconds after which a search for rare requests waits to be told to continue
const body = document.getElementById("rows");
const pause = document.getElementById("pause");
const place = document.getElementById("place");
const older = document.getElementById("older");
const newer = document.getElementById("newer");
const further = document.getElementById("further");
let rows = new Map();
let cursors = [null]; // where each page begins, up to the one that is shown
let next = null;
let waiting = 0;
let paused = false;
let turn = 0;
let problem = null; // why older requests are missing
let searched = null; // the time of the oldest request that was looked at, if there are others
let searching = false;
let opened = null; // the id of the request that is open
let held = []; // requests that ended while one is open: its neighbours stay

/** Show the page of the requests that the address and the filters want. */
export async function openTable() {
  cursors = readCursors();
  waiting = 0;
  await load();
}

/** Show the newest requests. */
async function openNewest() {
  writeCursors([null]);
  await openTable();
}

/** Add requests that just ended. */
export function addRows(ended) {
  if (isDetailOpen()) return void held.push(...ended);
  const fresh = ended.filter((row) => !rows.has(row.id));
  if (paused || cursors.length > 1) {
    waiting += fresh.length;
    drawPause();
    return;
  }
  const focused = document.activeElement?.closest?.("#rows tr");
  for (const row of fresh) {
    rows.set(row.id, row);
    body.prepend(rowOf(row, true));
  }
  while (body.childElementCount > PAGE) {
    rows.delete(body.lastElementChild.dataset.id);
    body.lastElementChild.remove();
    next = cursorOf(rows.get(body.lastElementChild.dataset.id));
  }
  if (focused && !focused.isConnected) focus(body.lastElementChild);
  drawState();
}

// A page ends with its last row: `Cursor` of the admin API.
const cursorOf = (row) => `${row.at}_${row.id}`;

const load = () => search(cursors.at(-1), true);

/** Add requests from a place on until the page is full; `replaces`: in place of those shown. */
async function search(from, replaces) {
  const mine = ++turn;
  const until = performance.now() + SEARCH;
  next = from;
  searching = true;
  try {
    for (let clears = replaces; searching; clears = false) {
      const query = readQuery();
      query.set("count", String(clears ? PAGE : PAGE - rows.size));
      if (next) query.set("before", next);
      const page = await ask(`requests?${query}`);
      if (mine !== turn) return; // other filters meanwhile
      if (page.problem && isFiltered()) throw new Error(page.problem);
      if (clears) rows = new Map();
      if (clears) body.replaceChildren();
      add(page);
      searching = searched !== null && performance.now() < until;
      drawState();
    }
  } finally {
    if (mine === turn) searching = false;
  }
}

function add(page) {
  for (const row of page.requests.filter((each) => !rows.has(each.id))) {
    rows.set(row.id, row);
    body.append(rowOf(row, false));
  }
  ({ problem, next } = page);
  searched = next && rows.size < PAGE ? page.searched : null;
}

function drawState() {
  const none = body.childElementCount === 0;
  document.getElementById("live").hidden = none;
  const isNew = none && !isFiltered() && waiting === 0 && !problem && searched === null;
  document.getElementById("empty").hidden = !isNew;
  document.getElementById("page-requests").classList.toggle("new", isNew);
  document.getElementById("no-match").hidden = !none || !isFiltered() || searched !== null;
  drawPlace(none);
  if (document.activeElement === further && (searching || searched === null)) (older.disabled ? newer : older).focus();
  further.hidden = searching || searched === null;
  const [isOldest, isNewest] = [!next || searched !== null, cursors.length === 1];
  if (!isOldest) older.disabled = false;
  if (!isNewest) newer.disabled = false;
  disable(older, isOldest, newer);
  disable(newer, isNewest, older);
  document.getElementById("pager").hidden = none && cursors.length === 1 && !problem && searched === null;
  if (!body.querySelector("[tabindex='0']")) body.firstElementChild?.setAttribute("tabindex", "0");
  drawPause();
}

function drawPlace(none) {
  const first = (cursors.length - 1) * PAGE;
  const shown = none ? "" : `${number(first + 1)}–${number(first + body.childElementCount)}`;
  if (problem) place.textContent = `Older requests are missing: ${problem}`;
  else if (searching) place.textContent = `Searching: ${shortTime(searched)} …`;
  else if (searched !== null) place.textContent = `${shown || "No match"} since ${shortTime(searched)}`;
  else place.textContent = shown && !next ? `${shown}, the oldest` : shown;
}

function drawPause() {
  pause.setAttribute("aria-pressed", String(paused));
  const held = waiting ? ` (${number(waiting)} new)` : "";
  pause.textContent = paused ? `Resume${held}` : cursors.length > 1 && waiting ? `Show newest${held}` : "Pause";
}

function rowOf(row, fresh) {
  const bad = row.end !== "done";
  const cell = (classes, ...children) => el("td", { role: "gridcell", class: classes }, ...children);
  return el("tr", { role: "row", tabindex: "-1", class: [fresh && "fresh", bad && "bad", row.sent === null && "unsent"].filter(Boolean).join(" ") || null, "data-id": row.id },
    cell("time", shortTime(row.at)),
    cell("who", row.key || "–"),
    cell("model", ...modelOf(row), row.offline ? el("span", { class: "tag soft" }, "emulator") : null),
    cell("purpose extra", row.purpose ?? "–"),
    cell("status", bad ? el("span", { class: "tag wrong" }, `${endWord(row.end)} ${row.status}`) : String(row.status)),
    cell("level", ...levelOf(row, bad)),
    cell("number extra", number(row.input)),
    cell("number thinking", number(row.thinking)),
    cell("number answer", number(row.answer)),
    cell("number extra", row.first === null ? "–" : seconds(row.first)),
    cell("number took", seconds(row.seconds)),
    cell("number cost", row.offline && row.cost !== null ? el("span", { title: "nothing was paid: what the service would have charged" }, formatCost(row.cost)) : formatCost(row.cost)),
  );
}

function modelOf(row) {
  if (row.model === null) return [el("b", {}, row.requested_model || "–")];
  const at = row.model.indexOf(":");
  return [el("b", {}, row.model.slice(at + 1)), " ", el("small", {}, row.model.slice(0, at))];
}

function levelOf(row, bad) {
  const reason = bad && row.reason ? el("span", { class: "reason" }, row.reason) : null;
  if (row.sent === null) return [reason ?? el("span", { class: "reason" }, row.reason ?? "–")];
  const asked = row.asked === "nothing" ? null : row.asked;
  const sent = tokens(row.sent);
  const words = asked === row.sent || asked === null
    ? el("span", { class: "words" }, asked === null ? el("i", {}, "not set") : null, asked === null ? " → " : null, sent)
    : el("span", { class: "words" }, tokens(asked), el("span", { "aria-hidden": "true" }, " → "), unseen(" became "), el("b", {}, sent));
  const why = row.why ?? row.adjustments[0];
  return [
    ladder(row.level, asked),
    words,
    row.why && row.why !== "default" ? el("span", { class: "tag" }, row.why) : why ? el("span", { class: "tag soft" }, why.replaceAll("_", " ")) : null,
    reason,
  ];
}

// -- pages and keys -------------------------------------------------------------------------------

async function go(step) {
  if (step > 0 && searched !== null) return goFurther();
  if (step > 0 ? !next : cursors.length === 1) return;
  const [before, had] = [cursors, document.activeElement?.closest?.("#rows")];
  cursors = step > 0 ? [...cursors, next] : cursors.slice(0, -1);
  if (cursors.at(-1) === null) cursors = [null]; // the page before one that a link leads to is unknown
  try {
    await load();
  } catch (error) {
    cursors = before;
    throw error;
  }
  writeCursors(cursors);
  if (had) focus(body.firstElementChild);
  if (cursors.length === 1) waiting = 0;
  drawState();
}

/** Search older requests for those that this page has room for. */
async function goFurther() {
  if (!searching) await search(next, false);
}

function focus(row) {
  if (!row) return;
  for (const each of body.querySelectorAll("[tabindex='0']")) each.setAttribute("tabindex", "-1");
  row.setAttribute("tabindex", "0");
  row.focus();
}

function open(row) {
  focus(row);
  writeRequest(row.dataset.id);
  showRequest(row.dataset.id);
}

/** Show one request, which may be on another page; null: none. */
export function showRequest(id) {
  if (id === null) return closeDetail();
  opened = id;
  if (findOpened()) focus(findOpened());
  openDetail(id, { hasNeighbour, move });
}

const findOpened = () => [...body.rows].find((row) => row.dataset.id === opened);
const neighbour = (step) => findOpened()?.[step > 0 ? "nextElementSibling" : "previousElementSibling"];

function hasNeighbour(step) {
  if (!findOpened()) return false;
  return Boolean(neighbour(step) || (step > 0 ? next && searched === null : cursors.length > 1));
}

/** Return the id of the next request in a direction, on this page or on the next; null without one. */
async function move(step) {
  let other = neighbour(step);
  if (!other && hasNeighbour(step)) {
    await go(step);
    other = step > 0 ? body.firstElementChild : body.lastElementChild;
  }
  if (!other) return null;
  focus(other);
  opened = other.dataset.id;
  writeRequest(opened);
  return opened;
}

onDetailClosed(() => {
  const ended = held;
  held = [];
  leaveRequest();
  body.querySelector("[tabindex='0']")?.focus();
  if (ended.length) addRows(ended);
});

body.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row && !getSelection().toString()) open(row);
});
body.addEventListener("keydown", (event) => {
  const row = event.target.closest("tr");
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = {
    ArrowDown: () => focus(row.nextElementSibling),
    ArrowUp: () => focus(row.previousElementSibling),
    Home: () => focus(body.firstElementChild),
    End: () => focus(body.lastElementChild),
    PageDown: () => attempt(() => go(1)),
    PageUp: () => attempt(() => go(-1)),
    Enter: () => open(row),
    " ": () => open(row),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
older.addEventListener("click", () => attempt(() => go(1)));
newer.addEventListener("click", () => attempt(() => go(-1)));
further.addEventListener("click", () => attempt(goFurther));
pause.addEventListener("click", () => {
  const shows = !paused && cursors.length > 1 && waiting;
  paused = shows ? false : !paused;
  if (!paused) attempt(openNewest);
  drawPause();
});
