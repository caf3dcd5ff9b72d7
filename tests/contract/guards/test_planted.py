"""Every trap is found where it was planted, and the emulated service refuses it too."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from tests.contract.guards.tapes import at, changed, found, guarded, in_loop, refusal

from pondero.dialects import NAMES

Json = Any
CLAUDE = "claude-sonnet-4-5/high"
BOUND = "claude-opus-5-5/high"
GPT = "gpt-6-sol/high"
GEMINI = "gemini-3-flash-preview/high"
CHAT = "openai-chat:gpt-5.1"
COHERE = "cohere:command-a-reasoning-08-2025"
STEPS = "google-interactions:gemini-3-flash-preview/high"
BEDROCK = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0/high"


class Plant(NamedTuple):
    """One change to a good request, the code it is found under, and where.

    ``refused`` is whether a service says no to it.
    """

    code: str
    model: str
    change: Callable[[Json], None]
    path: str
    refused: bool = True


def claude(body: Json, kind: str, turn: int = 1) -> Json:
    return next(b for b in body["messages"][turn]["content"] if b["type"] == kind)


def item(body: Json, kind: str) -> Json:
    return next(each for each in body["input"] if each.get("type") == kind)


def drop(items: list[Json], *gone: Json) -> None:
    for each in gone:
        items.remove(each)


def signed_call(body: Json) -> Json:
    return next(part for part in body["contents"][1]["parts"] if "functionCall" in part)


def chat_call(body: Json) -> Json:
    return next(m for m in body["messages"] if m.get("tool_calls"))["tool_calls"][0]


def as_text(body: Json) -> None:
    block = claude(body, "thinking")
    block["text"] = block.pop("thinking")


def hollow(body: Json) -> None:
    """A turn that was all thinking, and lost it."""
    body["messages"][1:1] = [
        {"role": "assistant", "content": []},
        {"role": "user", "content": [{"type": "text", "text": "Well?"}]},
    ]


def rename(body: Json) -> None:
    claude(body, "tool_use")["id"] = "call_a|fc_b"
    claude(body, "tool_result", 2)["tool_use_id"] = "call_a|fc_b"


def off_at_max(body: Json) -> None:
    body["thinking"] = {"type": "disabled"}
    body["output_config"] = {"effort": "max"}


def swapped(body: Json) -> None:
    body["messages"][1]["content"].reverse()


def nested(body: Json) -> None:
    part = signed_call(body)
    part["functionCall"]["thoughtSignature"] = part.pop("thoughtSignature")


def apart(body: Json) -> None:
    """The signature came in one frame and the call in the next: sent back as two parts."""
    part = signed_call(body)
    parts = body["contents"][1]["parts"]
    parts.insert(parts.index(part), {"text": "", "thoughtSignature": part.pop("thoughtSignature")})


def lone(body: Json) -> None:
    body["contents"][1]["parts"].insert(0, {"thoughtSignature": "c2lnbmF0dXJlIG9mIGEga2luZA=="})


def split(body: Json) -> None:
    again = {"functionCall": {"name": "get_weather", "args": {"city": "Bern"}}}
    body["contents"].insert(2, {"role": "model", "parts": [again]})
    result = {"functionResponse": {"name": "get_weather", "response": {"output": "fine"}}}
    body["contents"][3]["parts"].append(result)


def unkept(body: Json) -> None:
    del item(body, "reasoning")["encrypted_content"]


def renamed(body: Json) -> None:
    item(body, "function_call").pop("id", None)
    kind = item(body, "reasoning")
    kind["id"] = f"rs_{'0' * 48}"


def renumber(body: Json) -> None:
    chat_call(body)["id"] = body["messages"][2]["tool_call_id"] = "call_1"


def thought(body: Json) -> Json:
    return body["messages"][1]["content"][0]["reasoningContent"]["reasoningText"]


def cut_signature(body: Json) -> None:
    step = item(body, "thought")
    step["signature"] = step["signature"][:41] + "..."


def into_input(body: Json) -> None:
    """The thought was kept with the words of the user."""
    body["input"][0]["content"].append(dict(item(body, "thought")))


def unsign(body: Json) -> None:
    del thought(body)["signature"]


def unanswer(body: Json) -> None:
    body["messages"][2]["content"] = [{"text": "and?"}]


def mark(body: Json) -> None:
    body["messages"][1]["content"][1]["toolUse"]["toolUseId"] = "call|1"
    body["messages"][2]["content"][0]["toolResult"]["toolUseId"] = "call|1"


ANTHROPIC = [
    Plant("thinking_as_text", CLAUDE, as_text, "messages[1].content[0]"),
    Plant(
        "thinking_field_missing",
        CLAUDE,
        lambda b: claude(b, "thinking").pop("thinking"),
        "messages[1].content[0]",
    ),
    Plant(
        "seal_missing",
        CLAUDE,
        lambda b: claude(b, "thinking").update(signature=""),
        "messages[1].content[0]",
    ),
    Plant(
        "seal_changed",
        CLAUDE,
        lambda b: claude(b, "thinking").update(thinking="let me not look"),
        "messages[1].content[0].thinking",
    ),
    Plant(
        "seal_changed",
        CLAUDE,
        lambda b: claude(b, "thinking").update(signature="bm8gc2lnbmF0dXJl"),
        "messages[1].content[0].signature",
    ),
    Plant(
        "seal_cut",
        CLAUDE,
        lambda b: claude(b, "thinking").update(signature=claude(b, "thinking")["signature"][:100]),
        "messages[1].content[0].signature",
    ),
    Plant(
        "seal_broken",
        CLAUDE,
        lambda b: claude(b, "thinking").update(signature="no base64!"),
        "messages[1].content[0].signature",
    ),
    Plant(
        "thinking_missing",
        CLAUDE,
        lambda b: drop(b["messages"][1]["content"], claude(b, "thinking")),
        "messages[1].content[0]",
    ),
    Plant("thinking_moved", CLAUDE, swapped, "messages[1].content[0]"),
    Plant("bad_id", CLAUDE, rename, "messages[1].content[1].id"),
    Plant(
        "arguments_broken",
        CLAUDE,
        lambda b: claude(b, "tool_use").update(input='{}{"city": "Bern"}'),
        "messages[1].content[1].input",
    ),
    Plant(
        "call_unanswered",
        CLAUDE,
        lambda b: b["messages"][2].update(content=[{"type": "text", "text": "and?"}]),
        "messages[1].content[1]",
    ),
    Plant(
        "result_uncalled",
        CLAUDE,
        lambda b: drop(b["messages"][1]["content"], claude(b, "tool_use")),
        "messages[2].content[0]",
    ),
    Plant(
        "id_twice",
        CLAUDE,
        lambda b: b["messages"][1]["content"].append(claude(b, "tool_use")),
        "messages[1].content[2].id",
    ),
    Plant(
        "message_empty",
        CLAUDE,
        hollow,
        "messages[1]",
    ),
    Plant(
        "message_empty",
        CLAUDE,
        lambda b: b["messages"][1]["content"].insert(1, {"type": "text", "text": ""}),
        "messages[1].content[1]",
    ),
    Plant("off_refused", "claude-opus-5/high", off_at_max, "output_config.effort"),
    Plant("prefix_changed", BOUND, lambda b: b.update(system="Be brief."), "system"),
    Plant(
        "prefix_changed",
        BOUND,
        lambda b: b["messages"][0].update(content=[{"type": "text", "text": "Where?"}]),
        "messages[0]",
    ),
    Plant(
        "prefix_changed",
        BOUND,
        lambda b: b["messages"].insert(1, {"role": "user", "content": "Hurry."}),
        "messages[1]",
    ),
]
RESPONSES = [
    Plant(
        "summary_missing", GPT, lambda b: item(b, "reasoning").pop("summary"), "input[1].summary"
    ),
    Plant(
        "arguments_not_text",
        GPT,
        lambda b: item(b, "function_call").update(arguments={"city": "Bern"}),
        "input[2].arguments",
    ),
    Plant(
        "arguments_broken",
        GPT,
        lambda b: item(b, "function_call").update(arguments='{}{"city": "Bern"}'),
        "input[2].arguments",
        refused=False,
    ),
    Plant(
        "call_unanswered",
        GPT,
        lambda b: drop(b["input"], item(b, "function_call_output")),
        "input[2]",
    ),
    Plant(
        "result_uncalled",
        GPT,
        lambda b: drop(b["input"], item(b, "function_call")),
        "input[2]",
    ),
    Plant(
        "thinking_unfollowed",
        GPT,
        lambda b: drop(b["input"], item(b, "function_call"), item(b, "function_call_output")),
        "input[1]",
    ),
    Plant("follower_alone", GPT, lambda b: drop(b["input"], item(b, "reasoning")), "input[1]"),
    Plant("thinking_not_kept", GPT, unkept, "input[1]"),
    Plant(
        "seal_cut",
        GPT,
        lambda b: item(b, "reasoning").update(
            encrypted_content=item(b, "reasoning")["encrypted_content"][:80]
        ),
        "input[1].encrypted_content",
    ),
    Plant("seal_changed", GPT, renamed, "input[1].encrypted_content"),
]
GOOGLE = [
    Plant("seal_misplaced", GEMINI, nested, "contents[1].parts[1].functionCall.thoughtSignature"),
    Plant("call_unsealed", GEMINI, apart, "contents[1].parts[2]"),
    Plant(
        "call_unsealed",
        GEMINI,
        lambda b: signed_call(b).pop("thoughtSignature"),
        "contents[1].parts[1]",
    ),
    Plant(
        "message_empty",
        GEMINI,
        lambda b: b["contents"].insert(1, {"role": "model", "parts": []}),
        "contents[1]",
    ),
    Plant("calls_split", GEMINI, split, "contents[2].parts[0]"),
    Plant("seal_alone", GEMINI, lone, "contents[1].parts[0]"),
    Plant(
        "seal_broken",
        GEMINI,
        lambda b: signed_call(b).update(thoughtSignature="no base64!"),
        "contents[1].parts[1]",
    ),
    Plant(
        "seal_cut",
        GEMINI,
        lambda b: signed_call(b).update(thoughtSignature=signed_call(b)["thoughtSignature"][:40]),
        "contents[1].parts[1].thoughtSignature",
    ),
    Plant(
        "result_uncalled",
        GEMINI,
        lambda b: b["contents"][2]["parts"].append(b["contents"][2]["parts"][0]),
        "contents[2].parts[0]",
    ),
]
CLONES = [
    Plant(
        "arguments_not_text",
        CHAT,
        lambda b: chat_call(b)["function"].update(arguments={"city": "Bern"}),
        "messages[1].tool_calls[0].function.arguments",
    ),
    Plant(
        "arguments_broken",
        CHAT,
        lambda b: chat_call(b)["function"].update(arguments='{}{"city": "Bern"}'),
        "messages[1].tool_calls[0].function.arguments",
        refused=False,
    ),
    Plant("call_unanswered", CHAT, lambda b: b["messages"].pop(2), "messages[1].tool_calls[0]"),
    Plant(
        "call_unanswered",
        CHAT,
        lambda b: b["messages"][1]["tool_calls"].append(chat_call(b)),
        "messages[1].tool_calls[1]",
    ),
    Plant("result_uncalled", CHAT, lambda b: b["messages"].pop(1), "messages[1]"),
    Plant(
        "thinking_missing",
        "deepseek:deepseek-reasoner",
        lambda b: b["messages"][1].pop("reasoning_content"),
        "messages[1]",
    ),
    Plant(
        "field_refused",
        "groq:openai/gpt-oss-120b",
        lambda b: b["messages"][1].update(reasoning_content="let me look"),
        "messages[1].reasoning_content",
    ),
    Plant(
        "seal_missing",
        "openrouter:anthropic/claude-opus-5/high",
        lambda b: b["messages"][1]["reasoning_details"][0].pop("signature"),
        "messages[1].reasoning_details[0]",
    ),
    Plant(
        "seal_changed",
        "openrouter:anthropic/claude-opus-5/high",
        lambda b: b["messages"][1]["reasoning_details"][0].update(signature="bm8gc2lnbmF0dXJl"),
        "messages[1].reasoning_details[0]",
    ),
    Plant("bad_id", "mistral:magistral-medium-latest", renumber, "messages[1].tool_calls[0].id"),
]
OTHERS = {
    "cohere": [
        Plant("result_uncalled", COHERE, lambda b: b["messages"].pop(1), "messages[1]"),
        Plant(
            "arguments_not_text",
            COHERE,
            lambda b: chat_call(b)["function"].update(arguments={"city": "Bern"}),
            "messages[1].tool_calls[0].function.arguments",
        ),
        Plant(
            "message_empty",
            COHERE,
            lambda b: b["messages"].insert(1, {"role": "assistant", "content": ""}),
            "messages[1]",
        ),
    ],
    "ollama": [
        Plant(
            "arguments_not_object",
            "ollama:qwen3",
            lambda b: chat_call(b)["function"].update(arguments='{"city": "Bern"}'),
            "messages[1].tool_calls[0].function.arguments",
        ),
    ],
    "bedrock": [
        Plant("tools_missing", BEDROCK, lambda b: b.pop("toolConfig"), "messages[1].content[1]"),
        Plant(
            "thinking_missing",
            BEDROCK,
            lambda b: b["messages"][1]["content"].pop(0),
            "messages[1].content[0]",
        ),
        Plant("seal_missing", BEDROCK, unsign, "messages[1].content[0]"),
        Plant("call_unanswered", BEDROCK, unanswer, "messages[1].content[1]"),
        Plant(
            "result_uncalled",
            BEDROCK,
            lambda b: b["messages"][1]["content"].pop(1),
            "messages[2].content[0]",
        ),
        Plant(
            "seal_changed",
            BEDROCK,
            lambda b: thought(b).update(text="let me not look"),
            "messages[1].content[0].reasoningContent.reasoningText",
        ),
        Plant(
            "seal_changed",
            BEDROCK,
            lambda b: thought(b).update(signature="bm8gc2lnbmF0dXJl"),
            "messages[1].content[0].reasoningContent.reasoningText",
        ),
        Plant("bad_id", BEDROCK, mark, "messages[1].content[1].toolUse.toolUseId"),
    ],
    "interactions": [
        Plant("call_unsealed", STEPS, lambda b: b["input"].pop(1), "input[1]"),
        Plant("call_unsealed", STEPS, lambda b: b["input"][1].pop("signature"), "input[2]"),
        Plant("call_unanswered", STEPS, lambda b: b["input"].pop(3), "input[2]"),
        Plant("result_uncalled", STEPS, lambda b: b["input"].pop(2), "input[2].content[0]"),
        Plant("seal_broken", STEPS, cut_signature, "input[1]"),
        Plant("seal_misplaced", STEPS, into_input, "input[0].content[1]"),
    ],
}
LATER = [plant for name in NAMES for plant in OTHERS.get(name, ())]
PLANTS = [*ANTHROPIC, *RESPONSES, *GOOGLE, *CLONES, *LATER]


def _name(plant: Plant) -> str:
    return f"{plant.code}-{plant.model}"


@pytest.mark.parametrize("plant", PLANTS, ids=_name)
def test_a_planted_trap_is_found_in_its_place(plant):
    exchanges = changed(in_loop(plant.model), plant.change)
    assert plant.code in found(exchanges), guarded(exchanges).findings
    finding = found(exchanges)[plant.code]
    assert (finding.path, finding.exchange, finding.refused) == (plant.path, 3, plant.refused)
    assert finding.what
    assert finding.then
    assert finding.cure


@pytest.mark.parametrize("plant", PLANTS, ids=_name)
def test_the_place_of_a_trap_is_one_in_the_body_or_of_what_is_missing_there(plant):
    body = json.loads(changed(in_loop(plant.model), plant.change)[-1].request.body)
    path = plant.path.removesuffix(".summary")
    assert at(body, path) is not None


@pytest.mark.parametrize("plant", [each for each in PLANTS if each.refused], ids=_name)
def test_the_emulated_service_refuses_what_the_guard_warns_of(plant):
    assert refusal(changed(in_loop(plant.model), plant.change)[-1])
