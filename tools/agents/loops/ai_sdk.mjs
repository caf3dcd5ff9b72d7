// One tool loop and one more turn with the AI SDK; the gateway and the model are in variables.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { readFileSync } from "node:fs";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const { FRONT, URL_OF_GATEWAY: url, KEY: apiKey, MODEL: name, ASK, SUM, NOTE } = process.env;
const models = {
  responses: () => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses(name),
  chat: () => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat(name),
  messages: () => createAnthropic({ baseURL: `${url}/v1`, apiKey })(name),
  gemini: () => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })(name),
};
const options = {
  responses: { openai: { reasoningEffort: "high", reasoningSummary: "auto", forceReasoning: true } },
  chat: { openai: { reasoningEffort: "high", forceReasoning: true } },
  messages: { anthropic: { thinking: { type: "enabled", budgetTokens: 4000 } } },
  gemini: { google: { thinkingConfig: { thinkingBudget: 4000, includeThoughts: true } } },
};
const read_note = tool({
  description: "Read a note.",
  inputSchema: z.object({ name: z.string() }),
  execute: async () => readFileSync(NOTE, "utf-8"),
});

const messages = [];
for (const content of [ASK, SUM]) {
  messages.push({ role: "user", content });
  const answer = streamText({
    model: models[FRONT](),
    providerOptions: options[FRONT],
    system: "You are a careful reader.",
    messages,
    tools: { read_note },
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    maxOutputTokens: 9000,
    onError: ({ error }) => {
      console.error(error?.responseBody ?? error);
      process.exitCode = 1;
    },
  });
  console.log(await answer.text);
  messages.push(...(await answer.response).messages);
}
