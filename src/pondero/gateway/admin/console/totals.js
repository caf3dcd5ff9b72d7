// What the figures of a time span add up to: totals, models, keys, groups, rules and the watch.

import { BANDS, bandOf, compact, el, formatCost, number, percent, seconds, tokens } from "./elements.js";
import { endWord, isChosen, readAnswers, toggle } from "./filters.js";
import { isOffline } from "./who.js";

const RULES = {
  cap: "capped", floor: "raised", force: "forced", default: "by default", limit: "over a limit or budget", model: "model not allowed",
};
const SHOWN = 8;

/** Draw everything but the chart. */
export function drawTotals(figures) {
  drawSums(figures);
  drawModels(figures);
  drawSpend(figures);
  drawGroups(figures);
  drawStatuses(figures);
  drawRules(figures);
  drawPurposes(figures);
  drawWatch(figures);
  drawAdjustments(figures);
}

const sum = (rows, what) => rows.reduce((total, row) => total + Number(row[what] ?? 0), 0);
const rate = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(part && part / whole < 0.1 ? 1 : 0)}%` : "–");

function drawSums({ slices, bites, ends, models }) {
  const thinking = sum(slices, "thinking");
  const answer = sum(slices, "answer");
  const all = Object.values(ends).reduce((total, times) => total + times, 0);
  const [failed, rejected] = [ends.failed ?? 0, ends.refused ?? 0];
  const slowest = [...models].filter((model) => model.seconds.length).sort((one, other) => other.seconds[1] - one.seconds[1])[0];
  const shown = [
    ["requests", compact(all), rejected ? `${number(rejected)} rejected` : ""],
    ["error rate", rate(failed, all - rejected), failed ? `${number(failed)} failed` : "", failed ? "bad" : null],
    ["slowest model, p95", slowest ? seconds(slowest.seconds[1]) : "–", slowest ? slowest.model : ""],
    ["thinking tokens", compact(thinking), thinking + answer ? `${percent(thinking / (thinking + answer))} of output tokens` : "", "thinking"],
    ["answer tokens", compact(answer), "", "answer"],
    ["cost", formatCost(sum(slices, "cost")), whoseCost()],
    ["rules applied", compact(sum(bites, "times")), "changed a level, or rejected a request"],
  ];
  document.getElementById("sums").replaceChildren(
    ...shown.map(([name, value, beside, tint]) =>
      el("div", { class: tint ?? null }, el("dt", {}, name), el("dd", {}, value, beside ? el("small", {}, beside) : null))),
  );
}

/** Say of the cost of an emulator's answers that it is imaginary. */
function whoseCost() {
  const whose = readAnswers() || (isOffline() ? "emulator" : "real");
  return { real: "", emulator: "would have been; nothing was paid", all: "with the emulator's" }[whose] ?? "";
}

/** Replace what a place contains; the button that had the focus, or its place, keeps it. */
function redraw(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...children);
  if (!focused) return;
  const same = [...place.querySelectorAll("button")].find((each) => each.dataset.choice === focused.dataset.choice);
  (same ?? place.closest("[tabindex]")).focus({ preventScroll: true });
}

/** Fill a table: columns are [name, classes, cell of a row]. */
function fillTable(id, columns, rows, none) {
  const table = document.getElementById(id);
  if (!rows.length) return redraw(table, el("tbody", {}, el("tr", {}, el("td", { class: "none" }, none))));
  redraw(table,
    el("thead", {}, el("tr", {}, ...columns.map(([name, classes]) => el("th", { scope: "col", class: classes }, name)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...columns.map(([, classes, cell], at) =>
      el(at ? "td" : "th", at ? { class: classes } : { scope: "row", class: classes }, cell(row)))))));
}

const pair = (values) => (values.length ? `${seconds(values[0])} / ${seconds(values[1])}` : "–");

function drawModels({ models, slices }) {
  const levels = new Map();
  for (const slice of slices) {
    const model = levels.get(slice.model) ?? new Map();
    model.set(bandOf(slice.level), (model.get(bandOf(slice.level)) ?? 0) + slice.thinking);
    levels.set(slice.model, model);
  }
  const most = Math.max(1, ...models.map((model) => model.thinking + model.answer));
  fillTable("models", [
    ["model", "name", (row) => choice("model", row.model)],
    ["route", "name extra", (row) => row.route ?? "–"],
    ["requests", "number some", (row) => number(row.requests)],
    ["errors", "number", (row) => el("span", { class: row.failed ? "wrong" : null }, rate(row.failed, row.requests))],
    ["first byte p50 / p95", "number extra", (row) => pair(row.first)],
    ["total p50 / p95", "number some", (row) => pair(row.seconds)],
    ["p99", "number extra", (row) => (row.seconds.length ? seconds(row.seconds[2]) : "–")],
    ["thinking", "number thinking", (row) => compact(row.thinking)],
    ["answer", "number extra", (row) => compact(row.answer)],
    ["share", "graph extra", (row) => barOf(row, levels.get(row.model) ?? new Map(), most)],
    ["cost", "number", (row) => formatCost(row.cost)],
  ], models, "No requests in this time span.");
}

function drawSpend({ keys }) {
  fillTable("spend", [
    ["key", "name", (row) => (row.key ? choice("key", row.key) : el("i", {}, "without a valid key"))],
    ["requests", "number", (row) => number(row.requests)],
    ["errors", "number some", (row) => el("span", { class: row.failed ? "wrong" : null }, rate(row.failed, row.requests - row.rejected))],
    ["rejected", "number extra", (row) => number(row.rejected)],
    ["thinking", "number thinking", (row) => compact(row.thinking)],
    ["answer", "number some", (row) => compact(row.answer)],
    ["cost", "number", (row) => formatCost(row.cost)],
  ], keys, "No requests in this time span.");
}

function drawGroups({ groups }) {
  document.getElementById("groups-panel").hidden = groups.length === 0;
  fillTable("group-spend", [
    ["group", "name", (row) => choice("group", row.group)],
    ["keys", "number some", (row) => number(row.keys)],
    ["requests", "number", (row) => number(row.requests)],
    ["errors", "number some", (row) => el("span", { class: row.failed ? "wrong" : null }, rate(row.failed, row.requests - row.rejected))],
    ["rejected", "number extra", (row) => number(row.rejected)],
    ["thinking", "number thinking", (row) => compact(row.thinking)],
    ["answer", "number extra", (row) => compact(row.answer)],
    ["cost", "number", (row) => formatCost(row.cost)],
  ], groups, "No requests in this time span.");
}

const choice = (name, value, text = value) =>
  el("button", { type: "button", class: "plain", "data-choice": `${name}=${value}`, "aria-pressed": String(isChosen(name, value)), onclick: () => toggle(name, value) }, text);

function barOf(model, levels, most) {
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  const piece = (classes, amount) => {
    const part = el("i", { class: classes });
    part.style.width = `${(amount / most) * 100}%`;
    bar.append(part);
  };
  // The levels are those of the model on all its routes; the bar has this route's share of them.
  const all = [...levels.values()].reduce((total, amount) => total + amount, 0) || 1;
  for (const band of BANDS) if (levels.get(band)) piece(`back-${band}`, (levels.get(band) / all) * model.thinking);
  piece("back-answer", model.answer);
  return bar;
}

function fillList(id, items, none) {
  redraw(document.getElementById(id), ...(items.length ? items : [el("li", { class: "none" }, none)]));
}

function drawStatuses({ statuses }) {
  const bad = statuses.filter((each) => each.end !== "done");
  const rest = bad.slice(SHOWN);
  fillList("statuses", [
    ...bad.slice(0, SHOWN).map((each) => el("li", {}, choice("outcome", `end=${each.end}&status=${each.status}`, `${endWord(each.end)} ${each.status}`), el("span", {}, compact(each.requests)))),
    ...(rest.length ? [el("li", {}, el("span", {}, `${rest.length} other ${rest.length === 1 ? "status" : "statuses"}`), el("span", {}, compact(sum(rest, "requests"))))] : []),
  ], "Every request was answered.");
}

function drawRules({ bites }) {
  fillList("rules", bites.slice(0, SHOWN).map((hit) => el("li", {},
    el("b", { class: "times" }, `${compact(hit.times)}×`),
    el("span", {}, el("b", {}, hit.key), ` ${RULES[hit.why] ?? hit.why} on `, el("code", {}, hit.said)),
    hit.sent ? el("small", {}, `${tokens(hit.asked)} → ${tokens(hit.sent)}`) : null)), "No route or key rule changed a request.");
}

function drawPurposes({ purposes }) {
  fillList("purposes", purposes.map((each) => el("li", { title: `${compact(each.thinking)} thinking, ${compact(each.answer)} answer, ${formatCost(each.cost)}` },
    choice("purpose", each.purpose), el("span", {}, compact(each.requests)))), "No request has a known purpose.");
}

function drawWatch({ watch }) {
  fillList("watch", watch.slice(0, SHOWN).map((each) => el("li", {},
    el("b", { class: "times" }, `${Math.round((100 * (each.exhausted + each.though_off)) / each.answers)}%`),
    el("span", {}, el("b", {}, each.key), each.exhausted ? " all thinking on " : " thought though off on ", el("code", {}, each.model)),
    el("small", {}, `${each.level ?? "not set"}: ${compact(each.exhausted + each.though_off)} of ${compact(each.answers)}${each.wasted ? `, ${compact(each.wasted)} thinking tokens wasted` : ""}`))),
    "Every answer had room, and off was off.");
}

function drawAdjustments({ adjustments }) {
  fillList("adjustments", Object.entries(adjustments).slice(0, SHOWN).map(([code, times]) =>
    el("li", {}, el("code", {}, code), el("span", {}, compact(times)))), "Every request was sent exactly as requested.");
}
