// Calls the admin API. If it needs it, the user signs in at the identity provider, whose session is a
// cookie that scripts cannot read, or enters an admin key, which stays in this tab.

const KEY = "pondero-admin-key";
const SILENCE = 40_000; // milliseconds: the gateway sends something every 15 seconds
const dialog = document.getElementById("enter");
let signingIn = null;
let entered = false; // whether the gateway let this page in before

/** Return the answer to a request; throws an Error whose message can be shown, and that has the status. */
export async function ask(place, { method = "GET", body, signal } = {}) {
  const response = await send(place, { method, body, signal });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(findMessage(answer, response)), { status: response.status });
  return answer;
}

const findMessage = (answer, response) => answer?.error?.message ?? `the gateway says ${response.status}`;
const readMessage = async (response) => findMessage(await response.json().catch(() => null), response);

/** Save the answer to a request as a file. */
export async function download(place, name) {
  const response = await send(place);
  if (!response.ok) throw new Error(await readMessage(response));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Follows requests as they end, and connects again by itself. */
export class Follower {
  #query = "";
  #connection = null;
  #wake = () => {};

  /** Call `onRows` with requests as they end, and `onState` with "live", "away", or "rejected" and why; never returns. */
  async run(onRows, onState) {
    let failures = 0;
    for (;;) {
      const connection = (this.#connection = new AbortController());
      let rejected = null;
      try {
        const response = await send(`live?${this.#query}`, { signal: connection.signal });
        if (response.ok) {
          failures = 0;
          onState("live");
          for await (const event of events(response.body, connection)) onRows(JSON.parse(event).requests);
        } else if (response.status < 500) {
          rejected = await readMessage(response);
        }
      } catch {
        // The gateway is unreachable, silent, or another query is wanted.
      }
      if (connection.signal.reason === "query") continue;
      failures += 1;
      if (rejected !== null) onState("rejected", rejected);
      else if (failures > 1) onState("away"); // a gateway that restarts is back at once
      await this.#rest(Math.min(250 * 2 ** failures, 5_000));
    }
  }

  /** Follow the requests that a query wants. */
  follow(query) {
    if (query === this.#query) return;
    this.#query = query;
    this.#connection?.abort("query");
    this.#wake();
  }

  /** Try again now. */
  hurry() {
    this.#wake();
  }

  #rest(milliseconds) {
    return new Promise((done) => {
      this.#wake = done;
      setTimeout(done, milliseconds);
    });
  }
}

async function* events(stream, connection) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const watchdog = setTimeout(() => connection.abort("silence"), SILENCE);
    const { value, done } = await reader.read().finally(() => clearTimeout(watchdog));
    if (done) return;
    const pieces = (text + value).split("\n\n");
    text = pieces.pop();
    for (const piece of pieces) if (piece.startsWith("data: ")) yield piece.slice(6);
  }
}

async function send(place, { method = "GET", body, signal } = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const headers = {};
    if (key) headers.authorization = `Bearer ${key}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(`../admin/${place}`, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
    }).catch((error) => {
      throw error instanceof TypeError ? new Error("the gateway cannot be reached") : error;
    });
    // With a key, 403 says that it is no admin key; a viewer, whose changes are 403 too, has none.
    if (response.status !== 401 && !(response.status === 403 && key)) {
      entered ||= response.ok;
      return response;
    }
    const why = response.status === 403 ? await readMessage(response) : null;
    if (key && key === sessionStorage.getItem(KEY)) sessionStorage.removeItem(KEY);
    signingIn ??= signIn(Boolean(key), why).finally(() => (signingIn = null));
    await signingIn;
  }
}

/** Ask for an admin key, or lead to the identity provider, which leaves this page. */
async function signIn(again, why) {
  const field = document.getElementById("enter-key");
  const label = await findProvider();
  const provider = document.getElementById("enter-provider");
  provider.hidden = label === null;
  provider.textContent = `Sign in with ${label}`;
  document.getElementById("enter-why").textContent = describe(again, why, label);
  document.getElementById("enter-submit").className = label === null ? "main" : "quiet";
  dialog.showModal();
  (label === null ? field : provider).focus();
  return new Promise((done) => {
    const closed = () => {
      if (!field.value.trim()) return dialog.showModal();
      dialog.removeEventListener("close", closed);
      sessionStorage.setItem(KEY, field.value.trim());
      field.value = "";
      done();
    };
    dialog.addEventListener("close", closed);
  });
}

function describe(again, why, label) {
  if (why) return `That key was not accepted: ${why}. Try another.`;
  if (again) return "That key was not accepted. Try another.";
  if (entered && label !== null) return "Your session has ended. Sign in again.";
  if (label !== null) return "Sign in, or use an admin key. The key stays in this browser tab.";
  return "This console needs an admin key. The key stays in this browser tab.";
}

/** Return what the identity provider is called; null if there is none. */
async function findProvider() {
  try {
    const response = await fetch("../admin/sign-in-options", { cache: "no-store", credentials: "omit", redirect: "error" });
    return (await response.json()).label ?? null;
  } catch {
    return null; // the key still works
  }
}

/** End the session, and forget the key; then load the page again. */
export async function signOut() {
  const key = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (!key) {
    const response = await fetch("../admin/sign-out", { method: "POST", cache: "no-store", credentials: "same-origin", redirect: "error" });
    if (!response.ok) throw new Error(await readMessage(response));
  }
  location.reload();
}
