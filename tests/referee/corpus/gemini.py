"""Gemini's generateContent, on the Gemini API and on Vertex: pairs of requests for each rule.

Which model does what is written here from the vendor's pages and public reports, not read from
the service's own table.
"""

from typing import Any

from tests.referee.cases import Case, post

from pondero.canon import HttpRequest

HOST = "https://generativelanguage.googleapis.com/v1beta"
CLOUD = "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google"
KEY = {"x-goog-api-key": "key"}
TOKEN = {"authorization": "Bearer token"}
OLD, NEW = "gemini-2.5-flash", "gemini-3-flash-preview"
SKIP = "skip_thought_signature_validator"
F = {"functionDeclarations": [{"name": "f"}]}
SEARCH: dict[str, Any] = {"googleSearch": {}}


def many(count: int, name: str = "f") -> dict[str, Any]:
    """Return a tool of this many functions."""
    return {"functionDeclarations": [{"name": f"{name}{each}"} for each in range(count)]}


JSON = "application/json"
SHAPE = {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}

FLASH_3 = (NEW, "gemini-3.1-flash-lite", "gemini-3.5-flash")
SETTLED = ("gemini-3.5-flash-lite", "gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash")
PRO_3 = ("gemini-3-pro-preview", "gemini-3.1-pro-preview")
LATER = (*FLASH_3, *SETTLED, *PRO_3, "gemini-4-argon")
OF_2_5 = ("gemini-2.5-pro", OLD, "gemini-2.5-flash-lite")
OF_2_0 = ("gemini-2.0-flash", "gemini-2.0-flash-lite")
GEMMA_3 = ("gemma-2-9b-it", "gemma-3-27b-it", "gemma-3n-e4b-it")
GEMMA_4 = ("gemma-4-31b-it", "gemma-4-26b-a4b-it")
DRAWS = ("gemini-2.5-flash-image", "gemini-3-pro-image", "gemini-3.1-flash-image")
SPEAKS = ("gemini-2.5-flash-preview-tts", "gemini-2.5-pro-preview-tts")
NEVER_OFF = ("gemini-2.5-pro", *PRO_3, *FLASH_3, "gemini-3.7-flash")


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts) or [{"text": "hi"}]}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def result(name: str = "f") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "1"}}}


def ask(*contents: Any, to: str = OLD, stream: bool = False, **fields: Any) -> HttpRequest:
    """Return a request of this model; fields that are not of the top are of generationConfig."""
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return post(f"{HOST}/models/{to}:{method}", _body(contents, fields), KEY)


def cloud(*contents: Any, to: str = OLD, **fields: Any) -> HttpRequest:
    return post(f"{CLOUD}/models/{to}:generateContent", _body(contents, fields), TOKEN)


def _body(contents: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
    tops = {"tools", "toolConfig", "safetySettings", "cachedContent", "systemInstruction"}
    tops |= {"labels", "modelArmorConfig", "store", "surprise"}
    config = {name: value for name, value in fields.items() if name not in tops}
    top = {name: value for name, value in fields.items() if name in tops}
    return {"contents": list(contents) or [user()], "generationConfig": config, **top}


def think(to: str = OLD, **config: Any) -> HttpRequest:
    return ask(to=to, thinkingConfig=config)


def functions(*schemas: Any, to: str = OLD, **fields: Any) -> HttpRequest:
    made = [{"name": f"f{n}", "parameters": each} for n, each in enumerate(schemas)]
    return ask(to=to, tools=[{"functionDeclarations": made}], **fields)


def choice(**config: Any) -> dict[str, Any]:
    return {"functionCallingConfig": config}


def at(url: str, headers: dict[str, str], body: Any = None) -> HttpRequest:
    return post(url, {"contents": [user()]} if body is None else body, headers)


def file(uri: str, kind: str = "image/png") -> dict[str, Any]:
    return user({"fileData": {"fileUri": uri, "mimeType": kind}})


def inline(kind: str) -> dict[str, Any]:
    return user({"inlineData": {"mimeType": kind, "data": "QUJD"}})


def of(**schema: Any) -> dict[str, Any]:
    """Return the schema of an object with one property."""
    return {"type": "OBJECT", "properties": {"a": schema}}


ADDRESSES = [
    Case("no_address", at(f"{HOST}/models/{OLD}:generate", KEY), ask()),
    Case("nobody", at(f"{HOST}/models/{OLD}:generateContent", {}), ask()),
    Case("nobody", at(f"{CLOUD}/models/{OLD}:generateContent", {}), cloud(), "vertex"),
    Case("bad_key", at(f"{HOST}/models/{OLD}:generateContent", {"x-goog-api-key": "bad"}), ask()),
    Case("bad_token", at(f"{CLOUD}/models/{OLD}:generateContent", {"authorization": "Bearer bad"}),
         cloud(), "vertex"),
    Case("bad_model", ask(to="gemini%202.5"), ask()),
    Case("no_model", ask(to="gemini-2.5-flahs"), ask()),
    Case("no_model", cloud(to="gpt-5"), cloud(), "vertex"),
    Case("bad_json", at(f"{HOST}/models/{OLD}:generateContent", KEY, b"{"), ask()),
    Case("bad_root", at(f"{HOST}/models/{OLD}:generateContent", KEY, []), ask()),
    Case("unwrapped", at("https://cloudcode-pa.googleapis.com/v1internal:generateContent", TOKEN),
         at("https://cloudcode-pa.googleapis.com/v1internal:generateContent", TOKEN,
            {"model": OLD, "request": {"contents": [user()]}})),
]  # fmt: skip
TYPES = [
    Case("unknown_name", ask(surprise=1), ask(topK=1)),
    Case("unknown_name", functions(of(type="STRING", const="x")),
         functions(of(type="STRING", enum=["x"]))),
    *(Case("unknown_name", ask(responseMimeType=JSON, responseSchema={**SHAPE, name: value}),
           ask(responseMimeType=JSON, responseJsonSchema={"type": "object", name: value}))
      for name, value in (("additionalProperties", False), ("$ref", "#/$defs/a"), ("$defs", {}))),
    Case("list", ask(responseMimeType=JSON, responseSchema={"type": ["STRING", "NULL"]}),
         ask(responseMimeType=JSON, responseSchema={"type": "STRING", "nullable": True})),
    Case("wrong_type", ask(temperature="hot"), ask(temperature="1")),
    Case("wrong_type", ask(seed=2**31), ask(seed=2**31 - 1)),
    Case("wrong_type", ask(mediaResolution="BOGUS"), ask(mediaResolution="MEDIA_RESOLUTION_LOW")),
    Case("wrong_type", ask(mediaResolution="MEDIA_RESOLUTION_ULTRA_HIGH"), ask(mediaResolution="MEDIA_RESOLUTION_HIGH")),
    Case("wrong_type", ask(responseModalities=["SMELL"]), ask(responseModalities=["TEXT"])),
    Case("wrong_type", ask(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT",
                                            "threshold": "SOME"}]),
         ask(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}])),
    Case("bad_base64", ask(user({"inlineData": {"mimeType": "image/png", "data": "*"}})),
         ask(inline("image/png"))),
    # What only the other deployment has (google-genai 3.1.0).
    Case("unknown_name", ask(modelArmorConfig={}), ask(labels={"a": "b"})),
    Case("unknown_name", ask(audioTimestamp=True), ask(enableEnhancedCivicAnswers=True)),
    Case("unknown_name", ask(tools=[{"enterpriseWebSearch": {}}]), ask(tools=[SEARCH])),
    Case("unknown_name", cloud(enableEnhancedCivicAnswers=True), cloud(audioTimestamp=True),
         "vertex"),
    Case("unknown_name", cloud(store=True), cloud(labels={"a": "b"}), "vertex"),
    Case("unknown_name", cloud(tools=[{"fileSearch": {}}]),
         cloud(tools=[{"enterpriseWebSearch": {}}]), "vertex"),
    Case("unknown_name",
         cloud(to=NEW, tools=[F], toolConfig={"includeServerSideToolInvocations": True}),
         cloud(to=NEW, tools=[F]), "vertex"),
]  # fmt: skip
CONVERSATION = [
    Case("no_contents", at(f"{HOST}/models/{OLD}:generateContent", KEY, {"contents": []}), ask()),
    *(Case("bad_role", ask({"role": role, "parts": [{"text": "a"}]}, user()), ask(user(), user()))
      for role in ("system", "developer", "assistant", "tool")),
    Case("bad_role", cloud({"role": "system", "parts": [{"text": "a"}]}, user()), cloud(),
         "vertex"),
    Case("no_role", cloud({"parts": [{"text": "a"}]}), cloud(), "vertex"),
    Case("no_role", cloud(user(), {"role": "", "parts": [{"text": "a"}]}), cloud(user(), user()),
         "vertex"),
    Case("no_parts", ask({"role": "user", "parts": []}), ask()),
    Case("no_data", ask(user({})), ask(user({"text": ""}))),
    Case("no_data", ask(systemInstruction={"parts": [{}]}),
         ask(systemInstruction={"parts": [{"text": "a"}]})),
    Case("much_data", ask(user({"text": "a", "inlineData": {}})), ask(user({"text": "a"}))),
    Case("no_name", ask(user(), model(call("")), user(result())),
         ask(user(), model(call()), user(result()))),
    Case("unpaired", ask(user(), model(call(), call()), user(result())),
         ask(user(), model(call(), call()), user(result(), result()))),
    Case("uncalled", ask(user(), model({"text": "a"}), user(result())),
         ask(user(), model(call()), user(result()))),
    Case("call_first", ask(model(call()), user(result())),
         ask(user(), model(call()), user(result()))),
    *(Case("prefill", ask(user(), model({"text": "a"}), to=to), ask(user(), to=to))
      for to in (*SETTLED, "gemini-4-argon")),
    *(Case("prefill", ask(user(), model({"text": "a"}), to="gemini-3.6-flash"),
           ask(user(), model({"text": "a"}), to=to)) for to in (*OF_2_5, *PRO_3, *FLASH_3)),
    *(Case("unsigned", ask(user(), model(call()), user(result()), to=to),
           ask(user(), model(call(thoughtSignature=SKIP)), user(result()), to=to))
      for to in LATER),
    *(Case("unsigned", ask(user(), model(call()), user(result()), to=NEW),
           ask(user(), model(call()), user(result()), to=to)) for to in (*OF_2_5, *OF_2_0)),
    Case("bad_signature", ask(user(), model({"text": "a", "thoughtSignature": "QUJD"}), user()),
         ask(user(), model({"text": "a", "thoughtSignature": SKIP}), user())),
    *(Case("no_system", ask(to=to, systemInstruction={"parts": [{"text": "a"}]}), ask(to=to))
      for to in (*GEMMA_3, "gemini-1.0-pro")),
    *(Case("no_system", ask(to="gemma-3-27b-it", systemInstruction={"parts": [{"text": "a"}]}),
           ask(to=to, systemInstruction={"parts": [{"text": "a"}]}))
      for to in (*GEMMA_4, *OF_2_0, *OF_2_5, *LATER)),
    Case("too_long", ask(user({"text": "four" * 33_000}), to="gemini-2.5-flash-image"),
         ask(user({"text": "four" * 32_000}), to="gemini-2.5-flash-image")),
    Case("too_long", ask(user({"text": "four" * 140_000}), to="gemma-3-27b-it"),
         ask(user({"text": "four" * 140_000}), to="gemma-4-31b-it")),
]  # fmt: skip
MEDIA = [
    *(Case("media_kind", ask(inline(kind)), ask(inline(good)))
      for kind, good in (("png", "image/png"), ("application/octet-stream", "application/pdf"),
                         ("application/zip", "text/csv"), ("image/svg+xml", "image/gif"),
                         ("application/msword", "text/plain"))),
    *(Case("modality", ask(inline(kind), to=to), ask(inline("image/png"), to=to))
      for to in (*GEMMA_3, *GEMMA_4, "gemini-2.5-flash-image") for kind in ("audio/mp3", "video/mp4")),
    *(Case("modality", ask(inline("image/png"), to=to, responseModalities=["AUDIO"]),
           ask(to=to, responseModalities=["AUDIO"])) for to in SPEAKS),
    *(Case("modality", ask(file("https://www.youtube.com/watch?v=x", "video/mp4"), to=GEMMA_4[0]),
           ask(file("https://www.youtube.com/watch?v=x", "video/mp4"), to=to))
      for to in (*OF_2_0, *OF_2_5, *LATER)),
    *(Case("file_uri", ask(file(uri), to=NEW), ask(file("https://x.test/a.png"), to=NEW))
      for uri in ("gs://bucket/a.png", "file-abc123", "file_011CNha8iCJcU1wXNR6q4V8w")),
    *(Case("file_uri", ask(file("https://x.test/a.png"), to=to),
           ask(file(f"{HOST}/files/abc"), to=to)) for to in OF_2_0),
    *(Case("file_uri", ask(file("https://x.test/a.png"), to=OF_2_0[0]),
           ask(file("https://x.test/a.png"), to=to)) for to in (*OF_2_5, *LATER)),
    Case("file_uri", cloud(file(f"{HOST}/files/abc")), cloud(file("gs://bucket/a.png")), "vertex"),
    Case("file_uri", cloud(file("file-abc123")), cloud(file("https://x.test/a.png")), "vertex"),
    Case("no_file", ask(file(f"{HOST}/files/missing")), ask(file(f"{HOST}/files/abc"))),
]  # fmt: skip
TOOLS = [
    Case("empty_tool", ask(tools=[{}]), ask(tools=[F])),
    *(Case("no_functions", ask(to=to, tools=[F]), ask(to=to))
      for to in (*GEMMA_3, "gemini-2.5-flash-image", "gemini-3-pro-image")),
    *(Case("no_functions", ask(to=GEMMA_3[0], tools=[F]), ask(to=to, tools=[F]))
      for to in (*GEMMA_4, *OF_2_0, *OF_2_5, *LATER)),
    Case("function_name", ask(tools=[{"functionDeclarations": [{"name": "1f"}]}]), ask(tools=[F])),
    Case("many_functions", ask(tools=[many(513)]), ask(tools=[many(512)])),
    Case("many_functions", ask(tools=[many(513)]), ask(tools=[many(512), many(1, "g")])),
    Case("function_twice", ask(tools=[F, F]), ask(tools=[F])),
    Case("function_schemas",
         ask(tools=[{"functionDeclarations": [{"name": "f", "parameters": SHAPE,
                                               "parametersJsonSchema": {}}]}]),
         ask(tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {}}]}])),
    Case("function_root", functions({"type": "STRING"}), functions(SHAPE)),
    Case("no_items", functions(of(type="ARRAY")), functions(of(type="ARRAY", items={}))),
    Case("no_items", ask(responseMimeType=JSON, responseSchema=of(type="ARRAY")),
         ask(responseMimeType=JSON, responseSchema=of(type="ARRAY", items={"type": "STRING"}))),
    Case("required", functions({**SHAPE, "required": ["b"]}),
         functions({**SHAPE, "required": ["a"]})),
    Case("enum_type", functions(of(type="INTEGER", enum=["1"])),
         functions(of(type="STRING", enum=["1"]))),
    Case("enum_empty", functions(of(type="STRING", enum=[""])),
         functions(of(type="STRING", enum=["1"]))),
    Case("allowed_mode",
         ask(tools=[F], toolConfig=choice(mode="AUTO", allowedFunctionNames=["f"])),
         ask(tools=[F], toolConfig=choice(mode="ANY", allowedFunctionNames=["f"]))),
    Case("allowed_name",
         ask(tools=[F], toolConfig=choice(mode="ANY", allowedFunctionNames=["g"])),
         ask(tools=[F], toolConfig=choice(mode="ANY", allowedFunctionNames=["f"]))),
    Case("choice_alone", ask(tools=[SEARCH], toolConfig=choice(mode="AUTO")), ask(tools=[SEARCH])),
    *(Case("no_tool", ask(to=to, tools=[SEARCH]), ask(to=to))
      for to in (*GEMMA_3, "gemini-2.5-flash-image")),
    *(Case("no_tool", ask(to=to, tools=[{"computerUse": {}}]),
           ask(to="gemini-2.5-computer-use-preview-10-2025", tools=[{"computerUse": {}}]))
      for to in (*OF_2_0, *OF_2_5)),
    Case("no_tool", ask(to="gemini-1.5-flash", tools=[SEARCH]),
         ask(to="gemini-1.5-flash", tools=[{"googleSearchRetrieval": {}}])),
    *(Case("old_search", ask(to=to, tools=[{"googleSearchRetrieval": {}}]),
           ask(to=to, tools=[SEARCH])) for to in (*OF_2_0, *OF_2_5, *LATER)),
    *(Case("tools_with_functions", ask(to=to, tools=[F, SEARCH]),
           ask(to=to, tools=[F, {"codeExecution": {}}])) for to in (*OF_2_0, *OF_2_5)),
    *(Case("tools_with_functions", cloud(to=OLD, tools=[F, SEARCH]),
           cloud(to=to, tools=[F, SEARCH]), "vertex") for to in LATER),
    *(Case("unannounced_tools", ask(to=to, tools=[F, SEARCH]),
           ask(to=to, tools=[F, SEARCH],
               toolConfig={"includeServerSideToolInvocations": True})) for to in LATER),
]  # fmt: skip
CONFIG = [
    Case("range", ask(temperature=2.1), ask(temperature=2)),
    Case("range", ask(topP=-0.1), ask(topP=0)),
    *(Case("output", ask(to=to, maxOutputTokens=most + 1), ask(to=to, maxOutputTokens=most))
      for to, most in ((OLD, 65_536), (NEW, 65_536), ("gemini-2.0-flash", 8_192),
                       ("gemma-3-27b-it", 8_192), ("gemma-4-31b-it", 32_768))),
    Case("output", ask(maxOutputTokens=0), ask(maxOutputTokens=1)),
    Case("stops", ask(stopSequences=list("abcdef")), ask(stopSequences=list("abcde"))),
    *(Case("penalty", ask(to=to, presencePenalty=0.1), ask(to=to, presencePenalty=0)) for to in (*OF_2_5, *LATER)),
    *(Case("penalty", ask(to=OLD, frequencyPenalty=0.1), ask(to=to, frequencyPenalty=0.1)) for to in OF_2_0),
    *(Case("penalty", cloud(to=to, frequencyPenalty=0.1), cloud(frequencyPenalty=0.1), "vertex") for to in SETTLED),
    Case("penalty_range", ask(to=OF_2_0[0], frequencyPenalty=2), ask(to=OF_2_0[0], frequencyPenalty=-2)),
    *(Case("one_candidate", ask(to=to, candidateCount=2), ask(to=to, candidateCount=1))
      for to in (*LATER, *DRAWS, *GEMMA_3)),
    *(Case("one_candidate", ask(to=NEW, candidateCount=2), ask(to=to, candidateCount=2))
      for to in (*OF_2_0, *OF_2_5)),
    Case("candidates", ask(candidateCount=9), ask(candidateCount=8)),
    Case("candidates", cloud(to="gemini-3.1-pro-preview", candidateCount=0),
         cloud(to="gemini-3.1-pro-preview", candidateCount=4), "vertex"),
    *(Case("logprobs", ask(to=to, responseLogprobs=True), ask(to=to))
      for to in ("gemini-flash-latest", "gemini-pro-latest", *OF_2_5, *LATER)),
    *(Case("logprobs_streamed", ask(to=to, stream=True, responseLogprobs=True),
           ask(to=to, stream=True)) for to in ("gemini-flash-latest", "gemini-2.0-flash")),
    Case("logprobs_streamed", ask(to=OF_2_0[0], stream=True, responseLogprobs=True),
         ask(to=OF_2_0[0], responseLogprobs=True)),
    Case("logprobs_alone", cloud(logprobs=5), cloud(logprobs=5, responseLogprobs=True), "vertex"),
    Case("logprobs_range", cloud(logprobs=21, responseLogprobs=True),
         cloud(logprobs=20, responseLogprobs=True), "vertex"),
    Case("mime_type", ask(responseMimeType="application/pdf"), ask(responseMimeType=JSON)),
    Case("two_schemas", ask(responseMimeType=JSON, responseSchema=SHAPE, responseJsonSchema={}),
         ask(responseMimeType=JSON, responseSchema=SHAPE)),
    Case("schema_type", ask(responseSchema=SHAPE),
         ask(responseSchema=SHAPE, responseMimeType=JSON)),
    Case("schema_type", ask(responseJsonSchema={}),
         ask(responseJsonSchema={}, responseMimeType=JSON)),
    *(Case("no_json", ask(to=to, responseMimeType=JSON),
           ask(to=to, responseMimeType="text/plain"))
      for to in (*GEMMA_3, "gemini-2.5-flash-image", "gemini-1.0-pro")),
    *(Case("json_with_functions", ask(to=to, tools=[F], responseMimeType=JSON),
           ask(to=to, tools=[F])) for to in (*OF_2_0, *OF_2_5)),
    *(Case("json_with_tools", ask(to=to, tools=[SEARCH], responseMimeType=JSON),
           ask(to=to, tools=[SEARCH])) for to in (*OF_2_0, *OF_2_5)),
    *(Case("json_with_functions", ask(tools=[F], responseMimeType=JSON),
           ask(to=to, tools=[F], responseMimeType=JSON)) for to in LATER),
    *(Case("modalities", ask(to=to, responseModalities=["TEXT", "IMAGE"]),
           ask(to=to, responseModalities=["TEXT"])) for to in (*OF_2_0, *OF_2_5, *LATER)),
    *(Case("modalities", ask(to=to, responseModalities=["AUDIO"]),
           ask(to=to, responseModalities=["TEXT", "IMAGE"])) for to in DRAWS),
    *(Case("modalities", ask(to=to, responseModalities=["TEXT"]),
           ask(to=to, responseModalities=["AUDIO"])) for to in SPEAKS),
    *(Case("safety_category",
           ask(safetySettings=[{"category": name, "threshold": "BLOCK_NONE"}]),
           ask(safetySettings=[{"category": "HARM_CATEGORY_HATE_SPEECH",
                                "threshold": "BLOCK_NONE"}]))
      for name in ("HARM_CATEGORY_TOXICITY", "HARM_CATEGORY_UNSPECIFIED",
                   "HARM_CATEGORY_JAILBREAK")),
    Case("safety_category",
         cloud(safetySettings=[{"category": "HARM_CATEGORY_VIOLENCE", "threshold": "OFF"}]),
         cloud(safetySettings=[{"category": "HARM_CATEGORY_JAILBREAK", "threshold": "OFF"}]),
         "vertex"),
    Case("safety_twice",
         ask(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}] * 2),
         ask(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}])),
    *(Case("cached", ask(cachedContent="cachedContents/x", **more),
           ask(cachedContent="cachedContents/x"))
      for more in ({"tools": [F]}, {"systemInstruction": {"parts": [{"text": "a"}]}},
                   {"tools": [F], "toolConfig": choice(mode="ANY")})),
    Case("cached", cloud(cachedContent="cachedContents/x", tools=[F]),
         cloud(cachedContent="cachedContents/x"), "vertex"),
    Case("no_cache", ask(cachedContent="cachedContents/missing"),
         ask(cachedContent="cachedContents/x")),
]  # fmt: skip
LEVELS = {
    "gemini-3-pro-preview": "LOW HIGH",
    "gemini-3.1-pro-preview": "LOW MEDIUM HIGH",
    **dict.fromkeys((*FLASH_3, *SETTLED[:2]), "MINIMAL LOW MEDIUM HIGH"),
    **dict.fromkeys((*SETTLED[2:], "gemini-4-argon"), "LOW MEDIUM HIGH"),
    "gemini-3-pro-image": "HIGH",
    "gemini-3.1-flash-image": "MINIMAL HIGH",
    **dict.fromkeys(GEMMA_4, "MINIMAL HIGH"),
}
BUDGETS = {
    "gemini-2.5-pro": (128, 32_768),
    OLD: (1, 24_576),
    "gemini-2.5-flash-lite": (512, 24_576),
}
THINKING = [
    Case("both", think(NEW, thinkingLevel="LOW", thinkingBudget=1), think(NEW, thinkingLevel="LOW")),
    *(Case("no_level", think(to, thinkingLevel="LOW"), think(to, thinkingBudget=1024))
      for to in OF_2_5),
    *(Case("level", think(to, thinkingLevel=level), think(to, thinkingLevel=words.split()[0]))
      for to, words in LEVELS.items()
      for level in {"MINIMAL", "LOW", "MEDIUM", "HIGH"} - set(words.split())),
    Case("level", think("gemini-3-pro-preview", thinkingLevel="MEDIUM"),
         think("gemini-3.1-pro-preview", thinkingLevel="MEDIUM")),
    *(Case("no_budget", think(to, thinkingBudget=1024), think(to, thinkingLevel="HIGH"))
      for to in ("gemini-4-argon", *GEMMA_4, "gemini-3-pro-image")),
    *(Case("budget", think(to, thinkingBudget=most + 1), think(to, thinkingBudget=most))
      for to, (_, most) in BUDGETS.items()),
    *(Case("budget", think(to, thinkingBudget=least - 1), think(to, thinkingBudget=least))
      for to, (least, _) in BUDGETS.items() if least > 1),
    *(Case("budget_zero", think(to, thinkingBudget=0), think(to, thinkingBudget=-1))
      for to in NEVER_OFF),
    *(Case("budget_zero", think("gemini-2.5-pro", thinkingBudget=0), think(to, thinkingBudget=0))
      for to in (OLD, "gemini-2.5-flash-lite")),
    Case("thoughts_off", think(includeThoughts=True, thinkingBudget=0),
         think(includeThoughts=True)),
    *(Case("no_thinking", think(to, includeThoughts=True), think(to))
      for to in (*OF_2_0, *GEMMA_3, "gemini-2.5-flash-image")),
]  # fmt: skip
CASES = [*ADDRESSES, *TYPES, *CONVERSATION, *MEDIA, *TOOLS, *CONFIG, *THINKING]
