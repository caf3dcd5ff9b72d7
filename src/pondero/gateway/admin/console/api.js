// Calls the admin API. If it needs an admin key, the user is asked for it once; it stays in this tab.

const KEY = "pondero-admin-key";
const dialog = document.getElementById("enter");
let signingIn = null;

/** Return the answer to a request; throws an Error whose message can be shown. */
export async function ask(place, { method = "GET", body } = {}) {
  const response = await send(place, { method, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? `the gateway says ${response.status}`);
  return answer;
}

/** Call `onRows` with requests as they end, and `onState` with "live" or "away"; never returns. */
export async function follow(onRows, onState) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 10_000)) {
    try {
      const response = await send("live");
      if (response.ok) {
        onState("live");
        wait = 250;
        for await (const event of events(response.body)) onRows(JSON.parse(event).requests);
      }
    } catch {
      // The gateway is unreachable; try again.
    }
    onState("away");
    await new Promise((done) => setTimeout(done, wait));
  }
}

async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = (text + value).split("\n\n");
    text = pieces.pop();
    for (const piece of pieces) if (piece.startsWith("data: ")) yield piece.slice(6);
  }
}

async function send(place, { method = "GET", body } = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const headers = {};
    if (key) headers.authorization = `Bearer ${key}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(`../admin/${place}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
    if (response.status !== 401) return response;
    if (key && key === sessionStorage.getItem(KEY)) sessionStorage.removeItem(KEY);
    signingIn ??= signIn(Boolean(key)).finally(() => (signingIn = null));
    await signingIn;
  }
}

function signIn(again) {
  const field = document.getElementById("enter-key");
  if (again) document.getElementById("enter-why").textContent = "That key was not accepted. Try another.";
  dialog.showModal();
  field.focus();
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
