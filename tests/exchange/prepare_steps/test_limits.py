"""What a model or a service is known to refuse is taken out of a request, each with a note."""

import pytest
from msgspec.structs import replace

from pondero.canon import (
    Message,
    ReplayRules,
    Request,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
)
from pondero.client import load_catalog
from pondero.dialects import get_dialect
from pondero.exchange import plan
from pondero.exchange.prepare_steps.draft import RequestDraft
from pondero.exchange.prepare_steps.limits import GO_ON, apply_prefill, drop_unsupported
from pondero.thinking import Policy, RequestParameters, parse_intent

ENTRY = load_catalog().entry("claude-sonnet-4-5")
QUESTION = Message("user", (Text("hi"),))
TOOL = Tool("look", "Looks.", {"type": "object"})
SEARCH = Tool("search", raw={"googleSearch": {}}, kind="web_search")


def facts(**changed):
    return replace(ENTRY, capability=replace(ENTRY.capability, **changed))


def draft(request, *, entry=ENTRY, made=None, **given):
    """Return a draft as ``prepare`` makes it before the step under test."""
    wire, target = get_dialect(entry.provider.dialect).caller(), Target("here", "http://here")
    made = planned() if made is None else made
    return RequestDraft(
        entry=entry, request=request, plan=made, caller=wire, target=target, **given
    )


def planned(level=None, **changed):
    made = plan(ENTRY, parse_intent(level), asked=RequestParameters(), policy=Policy())
    return replace(made, **changed)


@pytest.mark.parametrize(
    ("fields", "unsaid", "entry", "left", "codes"),
    [
        ({"stop": ("a",)}, (), ENTRY, {"stop": ("a",)}, []),
        ({"stop": ("a",)}, ("stop",), ENTRY, {"stop": ()}, ["dropped_parameter"]),
        ({"stop": ("a",)}, (), facts(forbids=("stop",)), {"stop": ()}, ["dropped_parameter"]),
        ({"tool_choice": ToolChoice("required"), "tools": (TOOL,)}, ("tool_choice",), ENTRY,
         {"tool_choice": None, "tools": (TOOL,)}, ["dropped_parameter"]),
        ({"tool_choice": ToolChoice("auto"), "tools": (TOOL,)}, ("tool_choice",), ENTRY,
         {"tool_choice": ToolChoice("auto")}, []),
        ({"tool_choice": ToolChoice("tool", "search"), "tools": (SEARCH,)}, ("hosted_choice",),
         ENTRY, {"tool_choice": None, "tools": (SEARCH,)}, ["dropped_parameter"]),
        ({"tool_choice": ToolChoice("tool", "look"), "tools": (TOOL, SEARCH)}, ("hosted_choice",),
         ENTRY, {"tool_choice": ToolChoice("tool", "look")}, []),
    ],
)  # fmt: skip
def test_what_would_be_refused_is_left_out_with_a_note(fields, unsaid, entry, left, codes):
    request = Request(ENTRY.model, (QUESTION,), **fields)
    kept = drop_unsupported(draft(request, entry=entry, unsupported=frozenset(unsaid)))
    assert {name: getattr(kept.request, name) for name in left} == left
    assert [note.code for note in kept.plan.adjustments] == codes


def test_stop_sequences_above_the_services_number_are_cut():
    entry = load_catalog().entry("openai-chat:gpt-4o")
    asked = ("a", "b", "c", "d", "e", "f")
    request = Request(entry.model, (QUESTION,), stop=asked)
    kept = drop_unsupported(draft(request, entry=entry))
    assert kept.request.stop == asked[:4]
    assert [note.code for note in kept.plan.adjustments] == ["parameter_clamped"]


# -- an answer begun for the model ----------------------------------------------------------------

SPACED, PLAIN = ReplayRules(trailing_space=True), ReplayRules(trailing_space=False)
BEGUN, THOUGHT = Text("Once upon "), Thinking("a tale")


def begun(*parts):
    return Request(ENTRY.model, (QUESTION, Message("assistant", parts)))


@pytest.mark.parametrize(
    ("parts", "rule", "thinks", "takes", "last"),
    [
        ((BEGUN,), "ok", True, SPACED, "Once upon "),
        ((BEGUN,), "ok", True, PLAIN, "Once upon"),
        ((Text("Once"),), "ok", True, PLAIN, "Once"),
        ((Text("  "),), "ok", True, PLAIN, "hi"),
        ((BEGUN,), "refused", False, SPACED, GO_ON.text),
        ((BEGUN,), "off", True, SPACED, GO_ON.text),
        ((BEGUN,), "off", False, SPACED, "Once upon "),
        ((THOUGHT, BEGUN), "off", True, SPACED, "Once upon "),
        ((THOUGHT, BEGUN), "off", False, SPACED, GO_ON.text),
        ((BEGUN,), "off", None, SPACED, "Once upon "),
        ((ToolCall("a", "look", {}),), "refused", True, SPACED, ""),
    ],
)
def test_a_begun_answer_is_sent_as_the_model_takes_it(parts, rule, thinks, takes, last):
    entry, made = facts(prefill=rule), planned(will_think=thinks)
    sent = apply_prefill(draft(begun(*parts), entry=entry, made=made, replay_rules=takes))
    assert sent.request.messages[-1].text == last
    changed = sent.request != begun(*parts)
    assert [note.code for note in sent.plan.adjustments] == ["prefill_adjusted"] * changed


@pytest.mark.parametrize("messages", [(), (QUESTION,)])
def test_where_no_answer_was_begun_nothing_changes(messages):
    before = draft(Request(ENTRY.model, messages), entry=facts(prefill="refused"))
    assert apply_prefill(before) is before
