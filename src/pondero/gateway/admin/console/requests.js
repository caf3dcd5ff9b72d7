// The requests page: alerts, totals and the chart of a time span, and the table of all requests.

import { ask, download } from "./api.js";
import { drawBalance, startBalance } from "./balance.js";
import { attempt, copy, el } from "./elements.js";
import { isFiltered, offer, offerAnswers, readAddress, readAnswers, readQuery, readRequest, setTime, startFilters, toggle } from "./filters.js";
import { addRows, openTable, showRequest } from "./table.js";
import { drawTotals } from "./totals.js";
import { isOffline } from "./who.js";

export { focusSearch } from "./filters.js";

const REST = 4000; // milliseconds between two updates of the figures while requests arrive
const IDLE = 30_000; // milliseconds between two updates while none arrive: time passes, and budgets begin again
const SHARE = 10; // the figures may take a tenth of the time
const KINDS = {
  dial_deaf: "levels make no difference", thinks_though_off: "thinks though off", exhausted: "answers are all thinking",
  budget_nearly_used: "budget nearly used", budget_without_room: "budget without room", breaker_open: "service paused",
  upstream_failing: "service failing", key_expires: "key expires soon",
};
let follower = null;
let rest = REST;
let due = null;
let reading = null;
let offered = ""; // whose answers the filters were offered for

/** Begin to listen to the filters. */
export function startRequests(live) {
  follower = live;
  startFilters(() => attempt(refresh));
  startBalance(setTime);
  setTimeout(tick, IDLE);
}

/** Show what the address wants; `stays`: the page is in view, and may show it already. */
export async function openRequests(query, stays = false) {
  offerAnswers(isOffline());
  const isNew = readAddress(query) || !stays;
  if (isNew) await listRequests();
  showRequest(readRequest());
  if (!isNew) return;
  await addUp();
  await lookForChoices("month");
}

/** Show what the filters want. */
async function refresh() {
  await listRequests();
  await addUp();
  if (readAnswers() !== offered) await lookForChoices("month"); // others have other keys and models
}

async function listRequests() {
  follower.follow(readQuery().toString());
  reading?.abort(); // the table comes first: the figures may take the database seconds
  await openTable();
}

async function addUp() {
  await Promise.all([look(), lookForAlerts()]);
  if (!isFiltered() && !document.getElementById("empty").hidden) await drawExample();
}

/** Add requests that just ended. */
export function addLive(rows) {
  addRows(rows);
  const values = (name) => rows.map((row) => row[name]).filter(Boolean);
  offer({ keys: values("key"), groups: values("group"), models: values("model"), statuses: values("status"), purposes: values("purpose") });
  due ??= setTimeout(() => {
    due = null;
    update(look, lookForAlerts);
  }, rest);
}

function tick() {
  update(look, lookForAlerts, () => lookForChoices("hour")); // a filter keeps others' requests away
  setTimeout(tick, Math.max(IDLE, rest));
}

/** Ask again, if the page is in view; a failure is the connection's, which has a banner. */
function update(...looks) {
  if (document.hidden || document.getElementById("page-requests").hidden) return;
  for (const each of looks) each().catch(() => {});
}

async function lookForChoices(span) {
  const whose = readAnswers();
  const query = new URLSearchParams(whose ? { span, answers: whose } : { span });
  const { choices } = await ask(`choices?${query}`);
  if (!choices) return;
  offered = whose;
  offer(choices);
}

async function look() {
  reading?.abort(); // the gateway stops to add them up
  const mine = (reading = new AbortController());
  const query = readQuery();
  query.set("span", document.querySelector("input[name=span]:checked").value);
  const begun = performance.now();
  const found = await ask(`figures?${query}`, { signal: mine.signal }).catch((error) => {
    if (!mine.signal.aborted) throw error;
  });
  if (mine !== reading || !found) return;
  rest = Math.max(REST, SHARE * (performance.now() - begun));
  const { figures } = found;
  document.getElementById("no-ledger").hidden = figures !== null;
  document.getElementById("page-requests").classList.toggle("brief", figures === null);
  if (figures === null) return;
  drawBalance(figures);
  drawTotals(figures);
}

async function lookForAlerts() {
  const { alerts } = await ask("alerts");
  document.getElementById("alerts").hidden = alerts.length === 0;
  document.getElementById("alert-list").replaceChildren(...alerts.map((alert) => el("li", {},
    el("b", { title: alert.kind }, KINDS[alert.kind] ?? alert.kind.replaceAll("_", " ")),
    el("span", {}, ...about(alert), alert.text))));
}

function about(alert) {
  const names = [["key", alert.key], ["group", alert.group], ["route", alert.route], ["", alert.model]].filter(([, name]) => name);
  return names.flatMap(([kind, name]) => [kind ? `${kind} ` : null, el("code", {}, name), ": "]);
}

// -- the first request ----------------------------------------------------------------------------

async function drawExample() {
  const [{ models }, { keys }, { requests }] = await Promise.all([ask("models"), ask("keys"), ask("requests?answers=all&count=1")]);
  document.getElementById("others").hidden = requests.length === 0;
  document.getElementById("others-text").textContent = `There are only requests that ${isOffline() ? "services" : "the emulator"} answered.`;
  const model = models.find((each) => each.levels.length > 2) ?? models[0];
  const text = document.getElementById("empty-text");
  const example = document.getElementById("example");
  for (const each of [example.parentElement, document.getElementById("copy-example")]) each.hidden = !model;
  if (!model) {
    text.textContent = "This gateway serves no model: set the key of a provider where it runs, or start it with --offline.";
    return;
  }
  text.textContent = keys.length
    ? "The first request appears here as soon as it finishes. Put a gateway key into PONDERO_KEY and try one:"
    : "The first request appears here as soon as it finishes. Try one:";
  const body = { model: `${model.name}/high`, messages: [{ role: "user", content: "Hello" }] };
  example.textContent = [
    `curl ${location.origin}/v1/chat/completions`,
    ...(keys.length ? ['  -H "authorization: Bearer $PONDERO_KEY"'] : []),
    "  -H 'content-type: application/json'",
    `  -d ${quote(JSON.stringify(body))}`,
  ].join(" \\\n");
}

/** Return a text as one word of a shell. */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

document.getElementById("export").addEventListener("click", (event) => attempt(async () => {
  event.target.disabled = true;
  try {
    await download(`requests.csv?${readQuery()}`, "pondero-requests.csv");
  } finally {
    event.target.disabled = false;
  }
}));
document.getElementById("show-others").addEventListener("click", () => toggle("answers", isOffline() ? "real" : "emulator"));
document.getElementById("copy-example").addEventListener("click", (event) => copy(document.getElementById("example"), event.target));
