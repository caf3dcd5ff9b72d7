// The chart: answer tokens up and thinking tokens down on one scale; cost is a strip below it.

import { BANDS, bandOf, bandWord, compact, el, moment, formatCost, number, svg } from "./elements.js";

const plot = document.getElementById("plot");
const readout = document.getElementById("readout");
const MARGIN = { left: 52, right: 8, top: 14, foot: 22 };
const STRIP = 34;
let drawn = null;
let chosen = null;
let onPick = () => {};

/** Call a function with the begin and the end of a step that the user picks. */
export function startBalance(picked) {
  onPick = picked;
}

/** Draw the steps of a span of time. */
export function drawBalance(figures) {
  const count = Math.round((figures.until - figures.since) / figures.step);
  const steps = Array.from({ length: count }, (_, at) => ({
    at: figures.since + at * figures.step, answer: 0, cost: 0, requests: 0, levels: Object.fromEntries(BANDS.map((level) => [level, 0])),
  }));
  const find = ({ at }) => steps[Math.floor((at - figures.since) / figures.step)];
  for (const each of figures.steps) {
    const step = find(each);
    if (step) step.requests += each.requests; // also those that were sent to no model
  }
  for (const slice of figures.slices) {
    const step = find(slice);
    if (!step) continue;
    step.answer += slice.answer;
    step.cost += Number(slice.cost ?? 0);
    step.levels[bandOf(slice.level)] += slice.thinking;
  }
  for (const step of steps) step.thinking = BANDS.reduce((total, level) => total + step.levels[level], 0);
  drawn = { steps, step: figures.step };
  if (chosen !== null && chosen >= steps.length) chosen = null;
  paint();
  tabulate();
}

function paint() {
  if (!drawn) return;
  const { steps } = drawn;
  const width = Math.max(280, plot.clientWidth);
  const height = steps.some((step) => step.requests) ? Math.round(Math.min(340, Math.max(220, width * 0.26))) : 120;
  const room = height - MARGIN.top - MARGIN.foot - STRIP - 12;
  const up = Math.max(...steps.map((step) => step.answer), 0);
  const down = Math.max(...steps.map((step) => step.thinking), 0);
  const scale = room / Math.max(1, up + down);
  const zero = up + down ? MARGIN.top + up * scale : MARGIN.top + room / 2;
  const gap = (width - MARGIN.left - MARGIN.right) / steps.length;
  const left = (at) => MARGIN.left + at * gap;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  picture.append(...grid(width, zero, scale, up, down));
  const bar = Math.max(1, Math.min(18, gap * 0.72));
  steps.forEach((step, at) => {
    const x = left(at) + (gap - bar) / 2;
    const column = svg("g", { class: "column", "data-at": at });
    column.append(svg("rect", { class: "hit", x: left(at), y: 0, width: gap, height: height - MARGIN.foot }));
    if (step.answer) column.append(svg("rect", { class: "fill-answer", x, y: zero - step.answer * scale, width: bar, height: step.answer * scale }));
    let y = zero;
    for (const level of BANDS) {
      const tall = step.levels[level] * scale;
      if (tall) column.append(svg("rect", { class: `fill-${level}`, x, y, width: bar, height: tall }));
      y += tall;
    }
    picture.append(column);
  });
  picture.append(svg("line", { class: "zero", x1: MARGIN.left, x2: width - MARGIN.right, y1: zero, y2: zero }));
  picture.append(...strip(width, height, gap, bar, left), ...times(width, height, left));
  plot.replaceChildren(picture);
  mark();
}

function grid(width, zero, scale, up, down) {
  const lines = [];
  const line = (value, y) => lines.push(
    svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }),
    svg("text", { class: "tick", x: MARGIN.left - 8, y: y + 3.5, "text-anchor": "end" }, compact(value)));
  const each = nice((up + down) / 4);
  if (!each) return lines;
  for (let value = each; value <= up; value += each) line(value, zero - value * scale);
  for (let value = each; value <= down; value += each) line(value, zero + value * scale);
  return lines;
}

function nice(rough) {
  if (rough <= 0) return 0;
  const size = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= rough);
}

function strip(width, height, gap, bar, left) {
  const most = Math.max(...drawn.steps.map((step) => step.cost), 0);
  const foot = height - MARGIN.foot;
  const label = svg("text", { class: "tick", x: MARGIN.left - 8, y: foot - 2, "text-anchor": "end" }, most ? formatCost(most) : "cost");
  const bars = drawn.steps.map((step, at) => step.cost
    ? svg("rect", { class: "fill-cost", x: left(at) + (gap - bar) / 2, y: foot - (step.cost / most) * (STRIP - 8), width: bar, height: (step.cost / most) * (STRIP - 8) })
    : null).filter(Boolean);
  return [label, ...bars, svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: foot, y2: foot })];
}

function times(width, height, left) {
  const { steps, step } = drawn;
  const every = Math.ceil(steps.length / Math.max(2, Math.floor(width / 130)));
  return steps.map((each, at) => at % every === 0
    ? svg("text", { class: "tick", x: left(at), y: height - 5 }, moment(each.at, step)) : null).filter(Boolean);
}

function mark() {
  for (const column of plot.querySelectorAll(".column")) column.classList.toggle("on", Number(column.dataset.at) === chosen);
  const step = chosen === null ? null : drawn.steps[chosen];
  if (!step) {
    readout.textContent = drawn.steps.some((each) => each.requests) ? "Point at a step, or use the arrow keys. Click or Enter shows its requests." : "No requests in this time span.";
    return;
  }
  const levels = BANDS.filter((band) => step.levels[band]).map((band) => `${bandWord(band)} ${compact(step.levels[band])}`);
  readout.textContent = [
    moment(step.at, drawn.step), `${number(step.requests)} ${step.requests === 1 ? "request" : "requests"}`, `${number(step.answer)} answer`,
    `${number(step.thinking)} thinking${levels.length ? ` (${levels.join(", ")})` : ""}`, formatCost(step.cost),
  ].join("  ·  ");
}

function tabulate() {
  const rows = drawn.steps.filter((step) => step.requests);
  const head = ["from", "requests", "answer", "thinking", ...BANDS.map(bandWord), "cost"];
  document.getElementById("plot-table").replaceChildren(el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows.map((step) => el("tr", {},
      el("th", { scope: "row" }, moment(step.at, drawn.step)),
      ...[step.requests, step.answer, step.thinking, ...BANDS.map((band) => step.levels[band])].map((value) => el("td", { class: "number" }, number(value))),
      el("td", { class: "number" }, formatCost(step.cost)))))));
}

function pick() {
  const step = chosen === null ? null : drawn.steps[chosen];
  if (step?.requests) onPick(step.at, step.at + drawn.step);
}

function choose(at) {
  chosen = at;
  mark();
}

plot.addEventListener("pointermove", (event) => {
  const column = event.target.closest(".column");
  if (column) choose(Number(column.dataset.at));
});
plot.addEventListener("pointerleave", () => choose(null));
plot.addEventListener("click", () => pick());
plot.addEventListener("keydown", (event) => {
  if (!drawn) return;
  if (event.key === "Enter" && chosen !== null) pick();
  const last = drawn.steps.length - 1;
  const to = { ArrowLeft: (chosen ?? last + 1) - 1, ArrowRight: (chosen ?? last - 1) + 1, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  choose(Math.min(last, Math.max(0, to)));
});
new ResizeObserver(paint).observe(plot);
document.getElementById("ramp").append(...BANDS.map((band) => el("span", {}, el("i", { class: `back-${band}` }), bandWord(band))));
