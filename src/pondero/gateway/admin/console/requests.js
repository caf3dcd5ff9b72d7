// The requests page: totals, the chart, live rows, and the rules applied by keys and routes.

import { ask } from "./api.js";
import { drawBalance } from "./balance.js";
import { LEVELS, clock, compact, el, ladder, formatCost, number, percent, seconds, unseen } from "./elements.js";

const SHOWN = 60;
const REST = 4000; // milliseconds between two updates of the figures while requests arrive
const RULES = {
  cap: "capped", floor: "raised", force: "forced", default: "by default", limit: "over a limit or budget", model: "model not allowed",
};
const body = document.getElementById("rows");
const pause = document.getElementById("pause");
const filter = document.getElementById("model-filter");
let figures = null;
let alarms = [];
let waiting = [];
let paused = false;
let due = null;
let known = new Set();

export async function openRequests() {
  document.getElementById("example").textContent =
    `curl ${location.origin}/v1/chat/completions \\\n  -H 'content-type: application/json' \\\n` +
    `  -d '{"model": "MODEL/high", "messages": [{"role": "user", "content": "Hello"}]}'`;
  const [{ requests }] = await Promise.all([ask("requests"), look()]);
  body.replaceChildren();
  known = new Set();
  add([...requests].reverse(), false);
  empty();
}

/** Add requests that just ended. */
export function addRows(rows) {
  if (paused) {
    waiting = [...waiting, ...rows].slice(-SHOWN);
    pause.textContent = `Resume (${waiting.length} new)`;
  } else {
    add(rows, true);
  }
  empty();
  due ??= setTimeout(() => {
    due = null;
    look().catch(() => {});
  }, REST);
}

function empty() {
  const none = body.childElementCount === 0 && waiting.length === 0;
  document.getElementById("empty").hidden = !none;
  document.getElementById("live").hidden = none;
}

function add(rows, fresh) {
  const made = rows.filter((row) => !known.has(row.id)).map((row) => rowOf(row, fresh));
  for (const row of rows) known.add(row.id);
  body.prepend(...made.slice(-SHOWN).reverse());
  while (body.childElementCount > SHOWN) body.lastElementChild.remove();
  if (known.size > 10 * SHOWN) known = new Set([...known].slice(-5 * SHOWN));
}

function rowOf(row, fresh) {
  const bad = row.end !== "done";
  const cell = (label, classes, ...children) => el("td", { role: "cell", class: classes, "data-label": label }, ...children);
  const name = row.model === null ? row.requested_model || "–" : row.model.slice(row.model.indexOf(":") + 1);
  return el("tr", { role: "row", class: [fresh && "fresh", bad && "bad"].filter(Boolean).join(" ") || null, "data-id": row.id },
    cell("time", "time", clock(row.at)),
    el("td", { role: "cell", class: "who", "data-label": "client", title: `client API: ${row.client_api}` }, row.key),
    cell("model", "model", el("b", {}, name), row.model ? el("small", {}, row.model.split(":")[0]) : null),
    cell("level", "level", ...levelOf(row, bad)),
    cell("thinking", "number thinking", number(row.thinking)),
    cell("answer", "number", number(row.answer)),
    cell("took", "number", seconds(row.seconds)),
    cell("cost", "number", row.offline ? el("span", { title: "emulated: what the real model would have cost" }, formatCost(row.cost)) : formatCost(row.cost)),
  );
}

function levelOf(row, bad) {
  if (bad && row.sent === null) return [el("span", { class: "tag wrong" }, `${row.end} ${row.status}`)];
  const asked = row.asked === "nothing" ? null : row.asked;
  const sent = tokens(row.sent);
  const same = asked === row.sent || asked === null;
  const words = same
    ? el("span", { class: "words" }, asked === null ? el("i", {}, "not set") : null, asked === null ? " → " : null, sent)
    : el("span", { class: "words" }, tokens(asked), el("span", { "aria-hidden": "true" }, " → "), unseen(" became "), el("b", {}, sent));
  const why = row.why ?? row.adjustments[0];
  return [
    ladder(row.level, asked),
    words,
    row.why && row.why !== "default" ? el("span", { class: "tag" }, row.why) : why ? el("span", { class: "tag soft", title: row.adjustments.join(", ") }, why.replaceAll("_", " ")) : null,
    bad ? el("span", { class: "tag wrong" }, `${row.end} ${row.status}`) : null,
  ];
}

const tokens = (word) => (/^\d+$/.test(word ?? "") ? `${compact(Number(word))} tokens` : (word ?? "nothing").replace("None", "nothing"));

// -- figures --------------------------------------------------------------------------------------

async function look() {
  const span = document.querySelector("input[name=span]:checked").value;
  ({ figures, alarms } = await ask(`figures?span=${span}`));
  if (figures === null) {
    document.getElementById("readout").textContent = "The ledger is disabled, so there is no history to show.";
    return;
  }
  offerModels();
  draw();
}

function draw() {
  const slices = figures.slices.filter((slice) => !filter.value || slice.model === filter.value);
  drawSums(slices);
  drawBalance(figures, slices);
  drawModels(figures.slices);
  drawRules();
  drawPurposes();
  drawWatch();
  drawAdjustments();
}

function offerModels() {
  const chosen = filter.value;
  const models = [...new Set(figures.slices.map((slice) => slice.model))].sort();
  filter.replaceChildren(el("option", { value: "" }, "all models"), ...models.map((model) => el("option", { value: model }, model)));
  filter.value = models.includes(chosen) ? chosen : "";
}

const sum = (slices, what) => slices.reduce((total, slice) => total + Number(slice[what] ?? 0), 0);

function drawSums(slices) {
  const thinking = sum(slices, "thinking");
  const answer = sum(slices, "answer");
  const applied = sum(figures.bites, "times");
  const unanswered = Object.entries(figures.ends).reduce((total, [end, times]) => total + (end === "done" ? 0 : times), 0);
  const shown = [
    ["requests", compact(sum(slices, "requests")), unanswered ? `${number(unanswered)} not answered` : ""],
    ["thinking tokens", compact(thinking), thinking + answer ? `${percent(thinking / (thinking + answer))} of output tokens` : "", "thinking"],
    ["answer tokens", compact(answer), "", "answer"],
    ["cost", formatCost(sum(slices, "cost")), ""],
    ["rules applied", compact(applied), ""],
  ];
  document.getElementById("sums").replaceChildren(
    ...shown.map(([name, value, beside, tint]) =>
      el("div", { class: tint ?? null }, el("dt", {}, name), el("dd", {}, value, beside ? el("small", {}, beside) : null))),
  );
}

function drawModels(slices) {
  const models = new Map();
  for (const slice of slices) {
    const model = models.get(slice.model) ?? { requests: 0, thinking: 0, answer: 0, cost: 0, levels: new Map() };
    for (const what of ["requests", "thinking", "answer"]) model[what] += slice[what];
    model.cost += Number(slice.cost ?? 0);
    const level = slice.level ?? "off";
    model.levels.set(level, (model.levels.get(level) ?? 0) + slice.thinking);
    models.set(slice.model, model);
  }
  const ranked = [...models].sort(([, one], [, other]) => other.thinking + other.answer - one.thinking - one.answer).slice(0, 12);
  const most = Math.max(1, ...ranked.map(([, model]) => model.thinking + model.answer));
  document.getElementById("models").replaceChildren(
    ...ranked.map(([name, model]) => el("li", {},
      el("button", { type: "button", class: "plain", "aria-pressed": String(filter.value === name), onclick: () => choose(name) }, name),
      el("span", { class: "cost" }, formatCost(model.cost)),
      barOf(model, most),
      el("small", {}, `${compact(model.requests)} ${model.requests === 1 ? "request" : "requests"}, ${compact(model.thinking)} thinking, ${compact(model.answer)} answer`))),
    ...(ranked.length ? [] : [el("li", { class: "none" }, "No requests in this time span.")]),
  );
}

function barOf(model, most) {
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  const piece = (classes, amount) => {
    const part = el("i", { class: classes });
    part.style.width = `${(amount / most) * 100}%`;
    bar.append(part);
  };
  for (const level of LEVELS) if (model.levels.get(level)) piece(`back-${level}`, model.levels.get(level));
  piece("back-answer", model.answer);
  return bar;
}

function choose(name) {
  filter.value = filter.value === name ? "" : name;
  draw();
}

function drawRules() {
  document.getElementById("rules").replaceChildren(
    ...figures.bites.slice(0, 8).map((hit) => el("li", {},
      el("b", { class: "times" }, `${compact(hit.times)}×`),
      el("span", {}, el("b", {}, hit.key), ` ${RULES[hit.why] ?? hit.why} on `, el("code", {}, hit.said)),
      hit.sent ? el("small", {}, `${tokens(hit.asked)} → ${tokens(hit.sent)}`) : null)),
    ...(figures.bites.length ? [] : [el("li", { class: "none" }, "No route or key rule changed a request.")]),
  );
}

function drawPurposes() {
  document.getElementById("purposes").replaceChildren(
    ...figures.purposes.map((each) => el("li", { title: `${compact(each.thinking)} thinking, ${compact(each.answer)} answer, ${formatCost(each.cost)}` },
      el("code", {}, each.purpose), el("span", {}, compact(each.requests)))),
    ...(figures.purposes.length ? [] : [el("li", { class: "none" }, "No requests in this time span.")]),
  );
}

function drawWatch() {
  const shares = figures.watch.slice(0, 8);
  document.getElementById("watch").replaceChildren(
    ...alarms.map((alarm) => el("li", {},
      el("b", { class: "times" }, "!"),
      el("span", {}, el("b", {}, alarm.kind.replaceAll("_", " ")), alarm.route ? " on " : null, alarm.route ? el("code", {}, alarm.route) : null),
      el("small", {}, alarm.text))),
    ...shares.map((each) => el("li", {},
      el("b", { class: "times" }, `${Math.round((100 * (each.exhausted + each.though_off)) / each.answers)}%`),
      el("span", {}, el("b", {}, each.key), each.exhausted ? " all thinking on " : " thought though off on ", el("code", {}, each.model)),
      el("small", {}, `${each.level ?? "not set"}: ${compact(each.exhausted + each.though_off)} of ${compact(each.answers)}${each.wasted ? `, ${compact(each.wasted)} thinking tokens wasted` : ""}`))),
    ...(alarms.length || shares.length ? [] : [el("li", { class: "none" }, "Every answer had room, and off was off.")]),
  );
}

function drawAdjustments() {
  const codes = Object.entries(figures.adjustments).slice(0, 8);
  document.getElementById("adjustments").replaceChildren(
    ...codes.map(([code, times]) => el("li", {}, el("code", {}, code), el("span", {}, compact(times)))),
    ...(codes.length ? [] : [el("li", { class: "none" }, "Every request was sent exactly as asked.")]),
  );
}

pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", String(paused));
  pause.textContent = paused ? "Resume" : "Pause";
  if (!paused) {
    add(waiting, true);
    waiting = [];
  }
});
filter.addEventListener("change", draw);
for (const radio of document.querySelectorAll("input[name=span]")) radio.addEventListener("change", () => look().catch(() => {}));
