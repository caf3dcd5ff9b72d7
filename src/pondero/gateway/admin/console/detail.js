// One request in full: its level, how it ended, tokens, cost, and where its time went.

import { ask } from "./api.js";
import { disable, el, formatCost, fullTime, number, seconds, tokens } from "./elements.js";
import { endWord } from "./filters.js";

const dialog = document.getElementById("detail");
const content = document.getElementById("detail-body");
const title = document.getElementById("detail-title");
const RULES = {
  cap: "a maximum level of the route or the key", floor: "a minimum level of the route or the key",
  force: "a fixed level of the route or the key", default: "a default level of the route or the key",
};
const PHASES = {
  gateway: "in the gateway", retries: "earlier tries", wait: "wait for the first byte", thinking: "thinking",
  answer: "answer", model: "the model's answer, in one piece",
};
const PATHS = {
  passed: "passed on unchanged but for the level and the name", fitted: "fitted to the model; its answer is passed on",
  translated: "translated between two APIs", none: "not sent",
};
const BUTTONS = [[1, document.getElementById("detail-older")], [-1, document.getElementById("detail-newer")]];
let around = null;
let turn = 0;

export const closeDetail = () => dialog.close();
export const isDetailOpen = () => dialog.open;
export const onDetailClosed = (act) => dialog.addEventListener("close", act);

/** Show a request; `list` says if there is another in a direction, and moves to it and returns its id. */
export async function openDetail(id, list) {
  around = list;
  if (!dialog.open) dialog.showModal();
  for (const [direction, button] of BUTTONS) disable(button, !list.hasNeighbour(direction), document.getElementById("detail-close"));
  const mine = ++turn;
  try {
    const found = await ask(`requests/${encodeURIComponent(id)}`);
    if (mine === turn) draw(found);
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

function fail(error) {
  title.textContent = "Request";
  content.replaceChildren(el("p", { class: "wrong", role: "alert" }, error.message));
}

function draw({ request, phases, adjustments }) {
  title.textContent = request.model ?? (request.requested_model || "Rejected request");
  content.replaceChildren(
    el("p", { class: "when" }, fullTime(request.at), " · ", el("code", {}, request.id)),
    outcome(request),
    section("Level", facts([
      ["requested", request.asked === "nothing" ? "not set" : request.asked && tokens(request.asked)],
      ["sent", request.sent && tokens(request.sent)],
      ["why", request.sent && why(request, adjustments)],
      ["verdict", request.verdict?.replaceAll("_", " ")],
    ]), request.sent === null ? el("p", { class: "none" }, "No level was sent.") : null),
    section("Adjustments", el("dl", { class: "codes" }, ...Object.entries(adjustments).flatMap(([code, text]) =>
      [el("dt", {}, el("code", {}, code)), el("dd", {}, text)])), Object.keys(adjustments).length ? null : el("p", { class: "none" }, "None.")),
    section("Time", timeBar(phases), el("ul", { class: "phases" }, ...phases.map((phase) => el("li", {},
      el("i", { class: `phase-${phase.name}`, "aria-hidden": "true" }), el("span", {}, PHASES[phase.name] ?? phase.name), el("b", {}, seconds(phase.seconds)))),
      el("li", { class: "sum" }, el("i"), el("span", {}, "total"), el("b", {}, seconds(request.seconds)))),
      facts([["tries", number(request.tries)], ["streamed", request.stream ? "yes" : "no"]])),
    section("Tokens and cost", facts([
      ["input", number(request.input)], ["from the cache", request.cached === null ? null : number(request.cached)],
      ["written to the cache", request.cache_write === null ? null : number(request.cache_write)],
      ["thinking", number(request.thinking)], ["answer", number(request.answer)], ["units", request.units],
      ["cost", formatCost(request.cost) + (request.offline && request.cost !== null ? " (nothing was paid: what the service would have charged)" : "")],
      ["counted by", request.estimated ? "the gateway in part, because the service did not report all" : request.tries ? "the service" : null],
    ])),
    section("Request", facts([
      ["key", request.key || "none"], ["group", request.group], ["requested model", request.requested_model], ["answered by", request.model],
      ["route", request.route], ["deployment", request.deployment], ["purpose", request.purpose], ["endpoint", request.endpoint], ["client API", request.client_api],
      ["path", PATHS[request.path] ?? request.path], ["finish", request.finish],
    ])),
    el("p", { class: "none" }, "The gateway records no prompts and no answers."));
  content.scrollTop = 0;
}

function outcome(request) {
  const bad = request.end !== "done";
  return el("p", { class: "outcome" }, el("span", { class: bad ? "tag wrong" : "tag good" }, `${endWord(request.end)} ${request.status}`),
    request.offline ? el("span", { class: "tag soft" }, "emulator") : null,
    request.reason ? ` ${request.reason}` : request.end === "left" ? " the client disconnected before the answer ended" : bad ? " no reason is recorded" : null);
}

function why(request, adjustments) {
  if (request.why?.startsWith("rule:")) return `the rule ${request.why.slice(5)}`;
  if (request.why) return RULES[request.why] ?? request.why;
  const code = Object.keys(adjustments).find((each) => adjustments[each]);
  if (request.asked !== "nothing" && request.asked === request.sent) return "sent as requested";
  if (code) return adjustments[code];
  return request.asked === "nothing" ? "nothing was requested, so the model's default holds" : "no reason is recorded";
}

const section = (name, ...children) => el("section", {}, el("h3", {}, name), ...children);

function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts-list" }, ...known.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function timeBar(phases) {
  const total = phases.reduce((sum, phase) => sum + phase.seconds, 0) || 1;
  const bar = el("span", { class: "bar tall", "aria-hidden": "true" });
  for (const phase of phases) {
    const piece = el("i", { class: `phase-${phase.name}` });
    piece.style.width = `${(100 * phase.seconds) / total}%`;
    bar.append(piece);
  }
  return bar;
}

async function step(direction) {
  if (!around.hasNeighbour(direction)) return;
  const mine = ++turn;
  try {
    const id = await around.move(direction);
    if (mine === turn && id) openDetail(id, around);
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

document.getElementById("detail-close").addEventListener("click", () => dialog.close());
for (const [direction, button] of BUTTONS) button.addEventListener("click", () => step(direction));
dialog.addEventListener("keydown", (event) => {
  const direction = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!direction || event.target.closest("#detail-body")) return;
  event.preventDefault();
  step(direction);
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close(); // outside the panel
});
