// The dial page: a model, a level, and the exact JSON that would be sent.

import { ask } from "./api.js";
import { LEVELS, compact, copy, el, svg, tokens } from "./elements.js";

const model = document.getElementById("dial-model");
const level = document.getElementById("dial-level");
const holder = document.getElementById("dial-key");
const where = document.getElementById("dial-where");
const sheets = { body: document.getElementById("dial-body"), plan: document.getElementById("dial-plan") };
const RADIUS = 92;
const RULES = { cap: "maximum level", floor: "minimum level", force: "fixed level", default: "default level" };
let turn = 0;

export async function openDial() {
  const [{ models }, { keys }] = await Promise.all([ask("models"), ask("keys")]);
  document.getElementById("dial-models").replaceChildren(
    ...models.map((each) => el("option", { value: each.name }, each.name === each.model ? each.label : each.model)));
  const chosen = holder.value;
  holder.replaceChildren(el("option", { value: "" }, "no key"), ...keys.map((key) => el("option", { value: key.name }, key.name)));
  holder.value = keys.some((key) => key.name === chosen) ? chosen : "";
  if (!model.value) model.value = example(models);
  await look();
}

/** Return a name to begin with: the newest with levels of the first provider. */
function example(models) {
  const alike = models.filter((each) => each.label === models[0].label && each.levels.length > 2);
  return (alike.at(-1) ?? models[0])?.name ?? "";
}

async function look() {
  const mine = ++turn;
  const requested = LEVELS[level.value];
  level.setAttribute("aria-valuetext", requested);
  if (!model.value.trim()) return tell("Choose a model, or type its name.");
  const query = new URLSearchParams({ model: model.value.trim(), thinking: requested });
  if (holder.value) query.set("key", holder.value);
  try {
    const found = await ask(`plan?${query}`);
    if (mine === turn) show(found, requested);
  } catch (error) {
    if (mine === turn) tell(error.message);
  }
}

function tell(message) {
  gauge(LEVELS[level.value], null);
  document.getElementById("verdict").replaceChildren(el("dd", { class: "wrong", role: "alert" }, message));
  where.textContent = "";
  sheets.body.textContent = sheets.plan.textContent = "";
}

function show(found, chosen) {
  const { plan } = found;
  const asked = found.requested ?? chosen;
  const requested = LEVELS.includes(asked) ? asked : chosen;
  gauge(requested, plan.level);
  const sent = plan.budget === null ? (plan.level ?? "nothing") : `${plan.level ?? ""} ${compact(plan.budget)} tokens`.trim();
  const facts = [["requested", asked === chosen ? asked : `${tokens(asked)}, as the name says; it goes before the slider`], ["sent", sent]];
  if (found.rule) facts.push(["rule", `${RULES[found.rule] ?? found.rule} of the ${holder.value ? "key or the route" : "route"}`]);
  for (const note of plan.adjustments) facts.push([note.code.replaceAll("_", " "), note.why]);
  facts.push(["facts", `${plan.facts.source}; checked ${plan.facts.checked ?? "never"}`]);
  if (!found.served) facts.push(["note", "this gateway does not serve this model, so its rules do not apply"]);
  document.getElementById("verdict").replaceChildren(...facts.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
  where.replaceChildren(el("b", {}, found.method), ` ${found.url}`);
  sheets.plan.textContent = JSON.stringify(plan, null, 2);
  sheets.body.replaceChildren(...markFields(found.body, plan.fields));
}

/** Return a body as text, with the lines that come from the dial marked. */
function markFields(body, fields) {
  return lines(body, fields, "").map(([text, mine]) => (mine ? el("mark", {}, `${text}\n`) : `${text}\n`));
}

function lines(value, fields, indent) {
  const inner = `${indent}  `;
  const entries = Object.entries(value);
  const made = entries.flatMap(([name, each], at) => {
    const comma = at < entries.length - 1 ? "," : "";
    const field = fields?.[name];
    const head = `${inner}${JSON.stringify(name)}: `;
    if (field !== undefined && isObject(each) && isObject(field) && JSON.stringify(each) !== JSON.stringify(field)) {
      const [first, ...rest] = lines(each, field, inner);
      const last = rest.pop();
      return [[head + first[0].trimStart(), false], ...rest, [last[0] + comma, false]];
    }
    const text = head + JSON.stringify(each, null, 2).replaceAll("\n", `\n${inner}`) + comma;
    return text.split("\n").map((line) => [line, field !== undefined]);
  });
  return [[`${indent}{`, false], ...made, [`${indent}}`, false]];
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// -- the gauge ------------------------------------------------------------------------------------

const angle = (at) => Math.PI * (1 - at / (LEVELS.length - 1));
const spot = (at, radius) => [120 + radius * Math.cos(angle(at)), 112 - radius * Math.sin(angle(at))];

function gauge(asked, sent) {
  const wanted = LEVELS.indexOf(asked);
  const got = LEVELS.indexOf(sent);
  const arcs = LEVELS.slice(1).map((name, at) => {
    const [x1, y1] = spot(at + 0.06, RADIUS);
    const [x2, y2] = spot(at + 0.94, RADIUS);
    return svg("path", { class: at < got ? `arc line-${name}` : "arc", d: `M${x1} ${y1}A${RADIUS} ${RADIUS} 0 0 1 ${x2} ${y2}` });
  });
  const [x, y] = spot(wanted, RADIUS - 16);
  document.getElementById("gauge").replaceChildren(
    svg("svg", { viewBox: "0 0 240 150" }, ...arcs,
      svg("line", { class: "needle", x1: 120, y1: 112, x2: x, y2: y }),
      svg("circle", { class: "hub", cx: 120, cy: 112, r: 6 }),
      svg("text", { class: "word", x: 120, y: 145, "text-anchor": "middle" }, sent === null ? asked : sent === asked ? asked : `${asked} → ${sent ?? "nothing"}`)));
  for (const stop of document.getElementById("stops").children) stop.classList.toggle("on", stop.textContent === asked);
}

function open(name) {
  for (const [each, sheet] of Object.entries(sheets)) {
    const tab = document.getElementById(`tab-${each}`);
    sheet.hidden = each !== name;
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
  }
}

for (const name of Object.keys(sheets)) {
  const tab = document.getElementById(`tab-${name}`);
  const other = name === "body" ? "plan" : "body";
  tab.addEventListener("click", () => open(name));
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    open(other);
    document.getElementById(`tab-${other}`).focus();
  });
}
document.getElementById("copy-json").addEventListener("click", (event) => copy(sheets.body.hidden ? sheets.plan : sheets.body, event.target));
document.getElementById("stops").append(...LEVELS.map((word, at) => el("span", { onclick: () => { level.value = at; look(); } }, word)));
document.getElementById("knob").addEventListener("submit", (event) => event.preventDefault());
level.addEventListener("input", look);
model.addEventListener("input", look);
holder.addEventListener("change", look);
