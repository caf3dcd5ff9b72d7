"""Promise 1, for whole requests: whatever is asked of whatever model, the service takes what we send.

What the catalog or the wire knows to be refused is changed and recorded, or raises under strict.
"""

from base64 import b64decode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pondero
from pondero.canon import Blob, Image, Message, Text, Tool, ToolCall, ToolResult
from pondero.client import load_catalog
from pondero.dialects import NAMES, Rejected
from pondero.emulator import Emulator
from pondero.emulator.routes import find_route
from pondero.errors import Unsupported
from pondero.thinking import BENIGN, LEVELS

CLIENT = pondero.Client(transport=Emulator())
ASKED = Message("user", (Text("What is the weather in Paris?"),))
BEGUN = Message("assistant", (Text("In Paris it is "),))
WEATHER = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)

ENTRIES = [
    entry
    for provider in load_catalog().catalog.providers.values()
    if provider.dialect in NAMES
    for entry in load_catalog().entries(provider.name)
]
PICTURE = Image(
    "image/png",
    b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    ),
)
PAPER = Blob("application/pdf", b"%PDF-1.4")
CALLED = Message("assistant", (ToolCall("call_1", "get_weather", {"city": "Paris"}),))


def shown(*media):
    return {"prompt": [Message("user", (Text("Look."), *media))]}


def returned(*media):
    result = ToolResult("call_1", (Text("Look."), *media))
    return {"prompt": [ASKED, CALLED, Message("user", (result,))], "tools": [WEATHER]}


ALONE = {
    "a picture": shown(PICTURE),
    "a document": shown(PAPER),
    "a picture in a result": returned(PICTURE),
    "a document in a result": returned(PAPER),
    "a stop sequence": {"stop": "END"},
    "many stop sequences": {"stop": list("abcdef")},
    "an answer begun": {"prompt": [ASKED, BEGUN]},
    "tools": {"tools": [WEATHER]},
    "a forced tool": {"tools": [WEATHER], "tool_choice": "required"},
    "a tool by name": {"tools": [WEATHER], "tool_choice": "get_weather"},
    "a cap of one": {"max_tokens": 1},
    "a cap of a hundred": {"max_tokens": 100},
    "heat": {"temperature": 1.9},
    "no sampling": {"temperature": 0, "top_p": 0.0, "top_k": 0},
    "all sampling": {"temperature": 0.3, "top_p": 0.5, "top_k": 3},
}


def refusal(model, wish, *, prompt=(ASKED,), **options):
    """Return how the service refuses what we would send, or None."""
    request = CLIENT.prepare(model, list(prompt), wish, **options).request
    to = find_route(request.url, provider=None)
    assert to is not None
    try:
        to.wire.service().accept(request, to.provider)
    except Rejected as no:
        return no.response.body.decode()
    return None


@pytest.mark.parametrize("options", ALONE.values(), ids=ALONE)
def test_each_thing_that_may_be_asked_is_accepted_of_every_family(options):
    families = {(entry.provider.name, entry.family): entry.id for entry in ENTRIES}
    refused = {
        (model, wish): words
        for model in families.values()
        for wish in (None, "high")
        if (words := refusal(model, wish, **options)) is not None
    }
    assert refused == {}


_options = st.fixed_dictionaries(
    {},
    optional={
        "stop": st.lists(st.sampled_from(["END", "###", "\n\nUser:"]), min_size=1, max_size=7),
        "prompt": st.sampled_from([[ASKED, BEGUN], [ASKED, BEGUN, ASKED]]),
        "tools": st.just([WEATHER]),
        "max_tokens": st.integers(1, 200_000) | st.integers(1, 20),
        "temperature": st.floats(0, 2),
        "top_p": st.floats(0, 1),
        "top_k": st.integers(0, 1000),
    },
).flatmap(
    lambda options: st.sampled_from(
        [options, *([{**options, "tool_choice": "required"}] if "tools" in options else [])]
    )
)
_wishes = st.sampled_from([None, True, *LEVELS]) | st.integers(0, 100_000)


@given(st.sampled_from(ENTRIES), _wishes, _options)
def test_all_together_are_accepted_of_every_model(entry, wish, options):
    assert refusal(entry.id, wish, **options) is None


@pytest.mark.parametrize(
    ("model", "options", "code"),
    [
        ("openai-chat:o3", {"stop": "END"}, "dropped_parameter"),
        ("openai-chat:o4-mini", {"stop": "END"}, "dropped_parameter"),
        ("openai-chat:gpt-6-sol", {"stop": "END"}, "dropped_parameter"),
        ("xai:grok-4.6", {"stop": "END"}, "dropped_parameter"),
        ("google:gemini-2.5-pro", {"stop": list("abcdef")}, "parameter_clamped"),
        ("claude-opus-5", {"prompt": [ASKED, BEGUN]}, "prefill_adjusted"),
        ("claude-sonnet-4-5", {"prompt": [ASKED, BEGUN]}, "prefill_adjusted"),
        ("gemini-3.6-flash", {"prompt": [ASKED, BEGUN]}, "prefill_adjusted"),
        ("openai-chat:gpt-6-astra", {"tools": [WEATHER]}, "tools_without_thinking"),
        ("openai:o3-deep-research", {"tools": [WEATHER]}, "tools_refused"),
        ("gpt-5", {"max_tokens": 10}, "max_tokens_clamped"),
        ("gemini-2.5-pro", {"max_tokens": 100}, "no_room"),
        ("cohere:command-a-reasoning-08-2025", {"top_p": 0.0}, "parameter_clamped"),
        ("claude-3-5-haiku", {"temperature": 1.9}, "parameter_clamped"),
    ],
)
def test_what_would_be_refused_is_recorded_and_raises_under_strict(model, options, code):
    prompt = options.get("prompt", [ASKED])
    beside = {name: value for name, value in options.items() if name != "prompt"}
    wish = None if model.startswith("claude-3-5") else "high"
    made = CLIENT.prepare(model, prompt, wish, **beside)
    assert code in [note.code for note in made.plan.adjustments]
    assert code not in BENIGN
    with pytest.raises(Unsupported, match=code):
        CLIENT.prepare(model, prompt, wish, **beside, policy={"unsupported": "strict"})


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("cohere:command-a-reasoning", shown(PICTURE)),
        ("deepseek:deepseek-v4-flash", returned(PICTURE)),
    ],
)
def test_a_medium_that_the_model_cannot_see_is_described_and_said(model, options):
    made = CLIENT.prepare(model, options["prompt"], tools=options.get("tools", []))
    assert "medium_unseen" in [note.code for note in made.plan.adjustments]
    assert b"image/png, 70 bytes, which this model cannot be shown" in made.request.body


def test_a_model_of_the_same_wire_that_sees_gets_the_picture():
    made = CLIENT.prepare("cohere:command-a-vision", shown(PICTURE)["prompt"])
    assert not made.plan.adjustments
    assert b"iVBORw0KGgo" in made.request.body


def test_an_answer_begun_is_kept_where_the_model_continues_it():
    made = CLIENT.prepare("claude-sonnet-4-5", [ASKED, BEGUN], "off")
    [note] = made.plan.adjustments
    assert (note.code, note.got) == ("prefill_adjusted", "In Paris it is")  # no blank at its end
    last = msgspec.json.decode(made.request.body)["messages"][-1]
    assert last == {"role": "assistant", "content": [{"type": "text", "text": "In Paris it is"}]}


def test_an_answer_begun_that_no_model_continues_stays_in_the_conversation():
    made = CLIENT.prepare("claude-opus-5", [ASKED, BEGUN], "low")
    assert b"In Paris it is" in made.request.body
    assert b"[Go on from where the answer above ends.]" in made.request.body
