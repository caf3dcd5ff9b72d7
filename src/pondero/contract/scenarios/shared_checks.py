"""Questions, staged answers and checks that many scenarios share.

Checks compare the wire on one side with the canon on the other.
"""

from collections.abc import Iterator, Sequence

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
    Reply,
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
from ..scenario import ScenarioCheck, optional_check, same, true
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

# Figures that no counting comes to by chance.
COUNTS = Usage(input=1009, cache_read=0, output=211, thinking=503, total=1723)
CACHED = Usage(input=1009, cache_read=401, output=211, thinking=0, total=1621)

SPOKEN = ScriptedTurn(text=ANSWER)
THOUGHT_OF = ScriptedTurn(thinking=THOUGHT, text=ANSWER, usage=COUNTS)
CALLED = ScriptedTurn(tool_calls=(CALL,))


def user(text: str) -> Message:
    """Return the words of a user as a message."""
    return Message("user", (Text(text),))


def require_reply(seen: ObservedExchange) -> Reply:
    """Return the reply of an exchange that had one."""
    if seen.reply is None:
        raise AssertionError  # ask raises where there is no reply
    return seen.reply


def once(seen: ObservedExchange) -> ScenarioCheck:
    """Return a check that the first request was good enough."""
    return same("requests it took", 1, seen.tries)


def check_request(seen: ObservedExchange, *messages: tuple[str, str]) -> Iterator[ScenarioCheck]:
    """Check that the service's side reads these roles and words in the request, in this order."""
    if seen.accepted is not None:
        found = [(each.role, each.text) for each in seen.accepted.request.messages]
        yield same("messages as the service reads them", list(messages), found)


def check_answer(
    bench: Testbed, seen: ObservedExchange, words: str | None = None
) -> Iterator[ScenarioCheck]:
    """Check the text of an answer: not empty, as on the wire, and as staged."""
    reply = require_reply(seen)
    yield true("reply.text", "words", reply.text, holds=bool(reply.text.strip()))
    yield true(
        "reply.text", "as it stands on the wire", reply.text, holds=says(seen.body, reply.text)
    )
    if bench.is_staged and words is not None:
        yield same("reply.text", words, reply.text)


def check_thinking(
    bench: Testbed, seen: ObservedExchange, words: str | None = None
) -> Iterator[ScenarioCheck]:
    """Check the thinking of an answer: shown, as on the wire, apart from the words."""
    reply = require_reply(seen)
    shown = "".join(reply.thinking)
    yield optional_check(
        "reply.thinking", "readable thinking", reply.thinking, holds=bool(shown.strip())
    )
    for text in reply.thinking:
        yield true("reply.thinking", "as it stands on the wire", text, holds=says(seen.body, text))
    if bench.is_staged and words is not None:
        yield same("reply.thinking", (words,), reply.thinking)
        yield true("reply.text", "no thinking in it", reply.text, holds=words not in reply.text)


# -- what is said about thinking -----------------------------------------------------------------


def check_plan(
    bench: Testbed, request: HttpRequest, plan: Plan, entry: ModelEntry | None = None
) -> Iterator[ScenarioCheck]:
    """Check that the request says what the plan says: as bytes, as a wish, and to the service."""
    of = entry or bench.entry
    body = msgspec.json.decode(request.body)
    at_level = f"{of.model}/{plan.asked}"
    for path, value in leaves(plan.fields):
        where = ".".join(map(str, path))
        yield same(f"{at_level}: {where} of the request", value, wire_value(body, path))
    yield from _meant(at_level, plan, of)
    intent = read_thinking(body, of.placement, of.provider.parameters).intent
    yield from _agrees(
        f"{at_level}: the wish in the request", plan, intent.kind, intent.level, intent.tokens
    )
    if (accepted := bench.read(request, of)) is not None:
        what = f"{at_level}: the wish as the service reads it"
        yield from _agrees(
            what, plan, accepted.intent.kind, accepted.intent.level, accepted.intent.tokens
        )


def _meant(at_level: str, plan: Plan, of: ModelEntry) -> Iterator[ScenarioCheck]:
    """Check the plan itself: a level that the model has is that level and no other."""
    facts = of.capability
    own = facts.efforts if not facts.by_budget else ()
    if plan.asked in own and plan.asked not in facts.steps:
        yield same(f"{at_level}: the level", plan.asked, plan.level)


def _agrees(
    what: str, plan: Plan, kind: str, level: str | None, budget: int | None
) -> Iterator[ScenarioCheck]:
    if kind == "off":
        yield true(what, "thinking", "off", holds=not plan.will_think)
    elif kind == "budget" and plan.budget is not None:
        yield same(what, plan.budget, budget)
    elif kind == "level" and plan.level not in ("on", None):
        yield same(what, plan.level, level)
    elif kind == "unset":
        said = [value for _, value in leaves(plan.fields)]
        yield true(what, "something", "nothing", holds=plan.budget not in said)


# -- a stream ------------------------------------------------------------------------------------


def grammar(events: Sequence[Event]) -> Iterator[ScenarioCheck]:
    """Check the order of events: Started first, each part begun and ended, Finished last."""
    names = [type(event).__name__ for event in events]
    yield same("first event", Started.__name__, names[0] if names else None)
    yield same("last event", Finished.__name__, names[-1] if names else None)
    yield same("Finished events", 1, names.count(Finished.__name__))
    told: dict[int, list[str]] = {}
    ended: list[int] = []
    for event in events:
        match event:
            case PartStart():
                told[event.index] = []
            case TextDelta() | ThinkingDelta() | ToolDelta():
                open_ = event.index in told and event.index not in ended
                yield true("delta", "of a part that is open", event.index, holds=open_)
                told[event.index].append(_told(event))
            case PartEnd():
                ended.append(event.index)
                yield from _whole("".join(told.get(event.index, [])), event.part)
    yield same("parts that ended", sorted(told), sorted(ended))


def deltas(events: Sequence[Event], kind: type[TextDelta | ThinkingDelta | ToolDelta]) -> str:
    """Return what the deltas of a kind say together."""
    return "".join(_told(event) for event in events if isinstance(event, kind))


def _told(event: TextDelta | ThinkingDelta | ToolDelta) -> str:
    return event.json if isinstance(event, ToolDelta) else event.text


def _whole(told: str, part: Part) -> Iterator[ScenarioCheck]:
    if isinstance(part, Text | Thinking):
        yield same("deltas of a part", part.text, told)
    elif isinstance(part, ToolCall) and told and not isinstance(part.arguments, str):
        yield same("deltas of a call", part.arguments, _json(told))


def _json(text: str) -> Json:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def bare(message: Message) -> list[Json]:
    """Return the parts of a message without seals and ids."""
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
    """Return whether a part is there for its seal only: a stream may bring it separately."""
    return isinstance(part, Text | Thinking) and not part.text
