"""Questions, staged answers and checks that many scenarios share."""

from collections.abc import Sequence

import msgspec

from ...canon import (
    Event,
    Finished,
    HttpRequest,
    Json,
    Message,
    Part,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolDelta,
    Usage,
)
from ...catalog import ModelEntry
from ...emulator import ScriptedCall, ScriptedTurn
from ...thinking import Plan, read_thinking
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, ScenarioCheck, same, true
from ..wire import leaves, says, wire_value

QUESTION = "What is 2+2?"
SUM = "What is 17 * 23?"
THOUGHT = "Two and two are counted on four fingers, from the left and from the right."
ANSWER = "It is four, and it stays four."
WIDE = "Vier – четыре – 四 – 🖐: it is four."  # one, two, three and four bytes a character

WEATHER = "What is the weather in Paris?"
TOOL = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
ARGUMENTS = {"city": "Paris"}
RESULT = "Sunny, 21 degrees."
CALL = ScriptedCall(TOOL.name, ARGUMENTS)

# Counts that cannot occur by chance.
COUNTS = Usage(input=1009, cache_read=0, output=211, thinking=503, total=1723)
CACHED = Usage(input=1009, cache_read=401, output=211, thinking=0, total=1621)

SPOKEN = ScriptedTurn(text=ANSWER)
THOUGHT_OF = ScriptedTurn(thinking=THOUGHT, text=ANSWER, usage=COUNTS)
CALLED = ScriptedTurn(tool_calls=(CALL,))


def user(text: str) -> Message:
    """Return a user's text as a message."""
    return Message("user", (Text(text),))


def once(seen: ObservedExchange) -> ScenarioCheck:
    """Return a check that one request was enough."""
    return same("requests it took", 1, seen.tries)


def check_request(seen: ObservedExchange, *messages: tuple[str, str]) -> Checks:
    """Check that the service's side reads these roles and words in the request, in this order."""
    if seen.accepted is not None:
        found = [(each.role, each.text) for each in seen.accepted.request.messages]
        yield same("messages as the service reads them", list(messages), found)


def check_answer(bench: Testbed, seen: ObservedExchange, words: str | None = None) -> Checks:
    """Check the text of an answer: not empty, as on the wire, and as staged."""
    reply = seen.answer
    yield true("reply.text", "words", reply.text, holds=bool(reply.text.strip()))
    yield true("reply.text", "as on the wire", reply.text, holds=says(seen.body, reply.text))
    if bench.is_staged and words is not None:
        yield same("reply.text", words, reply.text)


def check_thinking(bench: Testbed, seen: ObservedExchange, words: str | None = None) -> Checks:
    """Check the thinking of an answer: shown, as on the wire, apart from the words."""
    reply = seen.answer
    shown = reply.thinking
    yield true("reply.thinking", "readable thinking", shown, holds=bool(shown.strip()))
    for text in [part.text for part in reply.thinking_parts if part.text]:
        yield true("reply.thinking", "as on the wire", text, holds=says(seen.body, text))
    if bench.is_staged and words is not None:
        yield same("reply.thinking", words, reply.thinking)
        yield true("reply.text", "no thinking in it", reply.text, holds=words not in reply.text)


def check_plan(
    bench: Testbed, request: HttpRequest, plan: Plan, entry: ModelEntry | None = None
) -> Checks:
    """Check that the request has the plan's fields, and that both sides read the plan's level."""
    entry = entry or bench.entry
    body = msgspec.json.decode(request.body)
    at_level = f"{entry.model}/{plan.asked}"
    for path, value in leaves(plan.fields):
        where = ".".join(map(str, path))
        yield same(f"{at_level}: {where} of the request", value, wire_value(body, path))
    yield from _check_own_level(at_level, plan, entry)
    intent = read_thinking(body, entry.placement, entry.provider.parameters).intent
    yield from _check_intent(
        f"{at_level}: the level in the request", plan, intent.kind, intent.level, intent.tokens
    )
    if (accepted := bench.read(request, entry)) is not None:
        field = f"{at_level}: the level as the service reads it"
        yield from _check_intent(
            field, plan, accepted.intent.kind, accepted.intent.level, accepted.intent.tokens
        )


def _check_own_level(at_level: str, plan: Plan, entry: ModelEntry) -> Checks:
    facts = entry.capability
    own = facts.efforts if not facts.by_budget else ()
    if plan.asked in own and plan.asked not in facts.steps:
        yield same(f"{at_level}: the level", plan.asked, plan.level)


def _check_intent(
    field: str, plan: Plan, kind: str, level: str | None, budget: int | None
) -> Checks:
    if kind == "off":
        yield true(field, "thinking", "off", holds=not plan.will_think)
    elif kind == "budget" and plan.budget is not None:
        yield same(field, plan.budget, budget)
    elif kind == "level" and plan.level not in ("on", None):
        yield same(field, plan.level, level)
    elif kind == "unset":
        sent = [value for _, value in leaves(plan.fields)]
        yield true(field, "something", "nothing", holds=plan.budget not in sent)


def grammar(events: Sequence[Event]) -> Checks:
    """Check the order of events: Started first, each part begun and ended, Finished last."""
    names = [type(event).__name__ for event in events]
    yield same("first event", Started.__name__, names[0] if names else None)
    yield same("last event", Finished.__name__, names[-1] if names else None)
    yield same("Finished events", 1, names.count(Finished.__name__))
    texts: dict[int, list[str]] = {}
    ended: list[int] = []
    for event in events:
        match event:
            case PartStart():
                texts[event.index] = []
            case TextDelta() | ThinkingDelta() | ToolDelta():
                open_ = event.index in texts and event.index not in ended
                yield true("delta", "of a part that is open", event.index, holds=open_)
                texts[event.index].append(_delta_text(event))
            case PartEnd():
                ended.append(event.index)
                yield from _check_part("".join(texts.get(event.index, [])), event.part)
    yield same("parts that ended", sorted(texts), sorted(ended))


def deltas(events: Sequence[Event], kind: type[TextDelta | ThinkingDelta | ToolDelta]) -> str:
    """Return the text of all deltas of a kind."""
    return "".join(_delta_text(event) for event in events if isinstance(event, kind))


def _delta_text(event: TextDelta | ThinkingDelta | ToolDelta) -> str:
    return event.json if isinstance(event, ToolDelta) else event.text


def _check_part(texts: str, part: Part) -> Checks:
    if isinstance(part, Text | Thinking):
        yield same("deltas of a part", part.text, texts)
    elif isinstance(part, ToolCall) and texts and not isinstance(part.arguments, str):
        yield same("deltas of a call", part.arguments, _json(texts))


def _json(text: str) -> Json:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def bare(message: Message) -> list[Json]:
    """Return the parts of a message without signatures and ids."""
    return [_bare(part) for part in message.parts if not _is_empty(part)]


def _bare(part: Part) -> Json:
    match part:
        case Text():
            return ["text", part.text]
        case Thinking():
            return ["thinking", part.text]
        case ToolCall():
            return ["call", part.name, part.arguments]
        case _:
            return [type(part).__name__]


def _is_empty(part: Part) -> bool:
    return isinstance(part, Text | Thinking) and not part.text
