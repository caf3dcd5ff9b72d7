// Google's JavaScript SDK as a program: a call in JSON on each line of stdin, its result on stdout.
// Arguments: the folder with node_modules, the address, and the version of the API.
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, baseUrl, apiVersion] = process.argv.slice(2);
const file = join(folder, "node_modules", "@google", "genai", "dist", "node", "index.mjs");
const { GoogleGenAI } = await import(pathToFileURL(file).href);
const retryOptions = { attempts: 1 };
const httpOptions = { baseUrl, apiVersion, retryOptions };
const ai = new GoogleGenAI({ apiKey: "k", httpOptions });

async function run({ method, args }) {
  const found = await ai.interactions[method](...args);
  if (found?.[Symbol.asyncIterator] === undefined) return { value: found ?? null };
  const events = [];
  for await (const event of found) events.push(event);
  return { value: events };
}

for await (const line of createInterface({ input: process.stdin })) {
  let told;
  try {
    told = await run(JSON.parse(line));
  } catch (error) {
    told = { error: { kind: error.constructor.name, status: error.status, message: error.message } };
  }
  console.log(JSON.stringify(told));
}
