"""Only the steps that a request needs run; the others would have changed nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import (
    Blob,
    Image,
    LevelUpdate,
    Message,
    Origin,
    OutputFormat,
    Request,
    SavedRepair,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from pondero.client import load_catalog
from pondero.errors import PonderoError
from pondero.exchange import plan, prepare, prepare_in_steps
from pondero.exchange.prepare_steps import sequence
from pondero.handoff import Rejection
from pondero.thinking import Policy, RequestParameters, parse_intent

MODELS = (
    *("claude-opus-5", "claude-opus-4-5", "gpt-5.1", "openai-chat:gpt-5.1", "ollama:qwen3"),
    *("gemini-3-flash-preview", "deepseek:deepseek-v4-flash", "cohere:command-a-03-2025"),
    *("bedrock:anthropic.claude-opus-5", "groq:openai/gpt-oss-120b", "llamacpp:any"),
    *("gpt-5-mini", "gemma-3-27b-it", "bedrock:anthropic.claude-v2", "claude-haiku-4-5"),
)
CALL = ToolCall("call_1", "look up", {"city": "Rome"})
RESULT = ToolResult("call_1", (Text("sunny"),), name="look up")
# The head of a picture that is wider than any service takes.
WIDE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (20_000).to_bytes(4) + (1).to_bytes(4)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
texts = st.sampled_from(["Hello", "Hello again", " ", "", "json", "half \ud800 a letter"])
origins = st.sampled_from(
    [None, None, Origin("anthropic", "claude-opus-5", "low", 1.0), Origin("openai", "gpt-5.1")]
)
parts = st.one_of(
    st.builds(Text, texts),
    st.just(Blob("application/pdf", b"%PDF-1.7", cited=True)),
    st.just(Image("image/png", b"\x89PNG\r\n\x1a\n")),
    st.just(RESULT),
)
answers = st.lists(
    st.one_of(st.builds(Text, texts), st.just(CALL), st.just(Thinking("Hm."))), max_size=2
)
messages = st.one_of(
    st.builds(Message, st.just("user"), st.tuples(st.builds(Text, texts))),
    st.builds(Message, st.just("user"), st.lists(parts, max_size=2).map(tuple), origins),
    st.builds(Message, st.just("assistant"), answers.map(tuple), origins),
    st.builds(Message, st.just("system"), st.tuples(st.builds(Text, texts))),
    st.just(Message("system", (LevelUpdate("high"),))),
)
# What only a few models take differently, in a conversation that asks for it.
threads = st.one_of(
    st.lists(messages, min_size=1, max_size=4),
    st.sampled_from(
        [
            [Message("user", (Text("Hello"),)), *looked]
            for looked in (
                [Message("assistant", (CALL,)), Message("user", (RESULT,))],
                [Message("user", (Image("image/png", WIDE),))],
            )
        ]
    ),
).map(tuple)
TOOLS = (
    Tool("look up", "Looks.", SCHEMA),
    Tool("strict", "Looks.", SCHEMA, strict=True),
    Tool("web_search", raw={"type": "web_search_20250305"}, dialect="anthropic", kind="web_search"),
)
MANY = [Tool(f"tool_{number}", "Looks.", SCHEMA) for number in range(130)]
CHOICES = (
    *(None, None, ToolChoice("required"), ToolChoice("none"), ToolChoice("tool", "strict")),
    *(ToolChoice("tool", "web_search"), ToolChoice("auto", allowed=("strict",))),
)
requests = st.builds(
    Request,
    st.just(""),
    threads,
    system=st.sampled_from([(), (), (Text("Be brief."),)]),
    tools=st.sampled_from([(), (), TOOLS[:1], TOOLS, tuple(MANY)]),
    tool_choice=st.sampled_from(CHOICES),
    output=st.sampled_from([None, None, OutputFormat(), OutputFormat(SCHEMA, strict=True)]),
    max_tokens=st.sampled_from([None, 100]),
    temperature=st.sampled_from([None, 0.5]),
    stop=st.sampled_from([(), (), ("stop", " ")]),
    extras=st.sampled_from([None, None, {}, {"reasoning_effort": "low"}, {"user": "me"}]),
)
policies = st.sampled_from([Policy(), Policy(), Policy.of({"unsupported": "strict"})])
NO_SUMMARY = Rejection("openai", "gpt-5.1", cure=SavedRepair("ask for no summary"))
refusals = st.sampled_from([(), (NO_SUMMARY,)])


def run(way, model, request, level, policy, before):
    """Return what the steps make, or the error that they raise."""
    entry = load_catalog().entry(model)
    asked = RequestParameters(
        request.max_tokens, request.temperature, tools=bool(request.tools), tool_choice="auto"
    )
    try:
        made = plan(entry, parse_intent(level), asked=asked, policy=policy)
        return way(
            entry, request, made, asked=asked, policy=policy, url="http://a/v1", refusals=before
        )
    except PonderoError as error:
        return type(error), str(error)


def prepare_slowly(*given, **options):
    """Return the same as ``prepare``, from the steps of a gateway."""
    steps = prepare_in_steps(*given, **options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@given(
    st.sampled_from(MODELS),
    requests,
    st.sampled_from([None, "off", "minimal", "high"]),
    policies,
    refusals,
)
def test_steps_that_do_not_run_would_have_changed_nothing(model, request, level, policy, before):
    quick = run(prepare, model, request, level, policy, before)
    slow = run(prepare_slowly, model, request, level, policy, before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "_select", lambda _needs: tuple(sequence.STEPS))
        assert quick == slow == run(prepare, model, request, level, policy, before)


def test_plain_words_need_few_steps():
    ran = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "_select", _note_steps(ran))
        words = Request("", (Message("user", (Text("Hello"),)),))
        run(prepare, "claude-opus-5", words, "high", Policy(), ())
    names = [step.__name__ for step in ran]
    assert names == ["hand_off_history", "note_withheld", "require_turn", "encode_request"]


def _note_steps(ran):
    choose = sequence._select

    def select(needs):
        ran.extend(choose(needs))
        return choose(needs)

    return select
