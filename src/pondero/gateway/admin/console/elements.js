// Builds elements and writes numbers. Text is only ever set as text: names come from clients.

export const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
/** The parts of a bar of thinking tokens: the model's own default, and each level. */
export const BANDS = ["unset", ...LEVELS];
export const bandOf = (level) => level ?? "unset";
export const bandWord = (band) => (band === "unset" ? "not set" : band);

const SVG = "http://www.w3.org/2000/svg";
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Return an element with attributes and children; a string is text. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Return the same in SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Do something, and show at the top of the page why it failed. */
export async function attempt(act) {
  try {
    await act();
    document.getElementById("trouble").hidden = true;
  } catch (error) {
    complain(error.message);
  }
}

/** Say at the top of the page what is wrong. */
export function complain(message) {
  const trouble = document.getElementById("trouble");
  trouble.textContent = message;
  trouble.hidden = !document.getElementById("lost").hidden; // the banner says it already
}

/** Copy the text of an element, and say on the button how that went. */
export async function copy(element, button) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = "Copied";
  } catch { // browsers give pages no clipboard on plain http from another machine
    getSelection().selectAllChildren(element);
    const copied = document.execCommand("copy");
    button.textContent = copied ? "Copied" : "Select and copy it yourself";
    if (copied) getSelection().removeAllRanges();
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

/** Disable a button, or enable it; the focus moves on first, because a disabled button loses it. */
export function disable(button, disabled, instead) {
  if (disabled && document.activeElement === button) instead.focus();
  button.disabled = disabled;
}

/** Return words for a screen reader only. */
export const unseen = (text) => el("span", { class: "unseen" }, text);

export const number = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const compact = (value) => (value >= 100_000 ? short.format(value) : whole.format(value));
export const percent = (share) => `${Math.round(share * 100)}%`;

export function formatCost(value) {
  if (value === null || value === undefined) return "–";
  const dollars = Number(value);
  if (dollars === 0) return "$0";
  if (dollars >= 100) return `$${whole.format(Math.round(dollars))}`;
  if (dollars >= 0.1) return `$${dollars.toFixed(2)}`;
  if (dollars < 0.000001) return "< $0.000001";
  return `$${dollars.toPrecision(2).replace(/\.?0+$/, "")}`;
}

export function seconds(value) {
  if (value < 0.0995) return `${Math.round(value * 1000)} ms`;
  if (value < 59.95) return `${value.toFixed(value < 9.995 ? 2 : 1)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)}m ${whole % 60}s`;
}

export const clock = (at) => new Date(at * 1000).toLocaleTimeString("en-GB");

/** Return a time, with its day unless that is today. */
export function shortTime(at) {
  const when = new Date(at * 1000);
  if (when.toDateString() === new Date().toDateString()) return clock(at);
  const year = when.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return `${when.toLocaleDateString("en-GB", { day: "numeric", month: "short", year })} ${clock(at).slice(0, 5)}`;
}

/** Return a time with its day, to the millisecond, in UTC. */
export const fullTime = (at) => `${new Date(at * 1000).toISOString().replace("T", " ").replace("Z", "")} UTC`;

/** Return a level as the console shows it: a word, or a number of tokens. */
export const tokens = (word) => (/^\d+$/.test(word ?? "") ? `${compact(Number(word))} tokens` : (word ?? "nothing"));

/** Return a moment as the axis of a chart says it, for steps of `step` seconds. */
export function moment(at, step) {
  const when = new Date(at * 1000);
  if (step < 10_800) return when.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const day = when.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return step < 43_200 ? `${day}, ${String(when.getHours()).padStart(2, "0")}h` : day;
}

/** Return a ladder of seven notches: filled up to the sent level, with a mark at the requested one. */
export function ladder(sent, asked) {
  const top = LEVELS.indexOf(sent);
  const mark = LEVELS.indexOf(asked);
  const notches = LEVELS.map((level, at) =>
    svg("rect", {
      x: at * 5, y: 11 - at * 1.5, width: 3.4, height: 3 + at * 1.5, rx: 0.8,
      class: at <= top ? `fill-${LEVELS[top]}` : at === mark ? "notch asked" : "notch",
    }),
  );
  return svg("svg", { class: "ladder", viewBox: "-0.6 0 35 15", width: 42, height: 18, "aria-hidden": "true" }, ...notches);
}
