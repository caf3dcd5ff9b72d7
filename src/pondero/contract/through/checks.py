"""The checks of the matrix: what people miss in real gateways, each on one client API and model.

A check takes the client API and the cell, and raises ``Miss``. The client API may be one of ours
(``fronts``) or a vendor's SDK with the same methods, as in the tests.
"""

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ...canon import Usage
from ...client import plan
from ...emulator import Fault, ScriptedCall, ScriptedTurn
from ...exchange import Decoded
from ...thinking import Plan
from .fronts import NAME, Answer
from .referee import Referee
from .upstreams import Back, find_upstream

THOUGHT = "First I look at the question. Then at the sky: clouds, wind and rain."
QUESTION = "What is the weather in Paris?"
SUNNY = "It is sunny in Paris: 24 degrees."
RESULT = "24 degrees, sunny"
_FAULTS = 6  # a gateway that retries gets the same error again
_PATIENCE = 10.0  # seconds for a hang-up to reach the upstream
_OTHER_ALPHABET = str.maketrans("+/", "-_")


class Miss(Exception):
    """A check that a gateway does not pass, in one sentence."""


class NotApplicable(Exception):
    """A check that this client API or this model's service has no way to pass."""


class MatrixCell(Struct, frozen=True):
    """One model behind the gateway: its name there, and the other one for a switch."""

    name: str
    back: Back
    referee: Referee
    other: str | None = None
    other_back: Back | None = None


def require(holds: object, message: str) -> None:
    """Raise Miss with this message unless it holds."""
    if not holds:
        raise Miss(message)


def require_same(field: str, expected: object, actual: object) -> None:
    """Raise Miss unless two values are equal."""
    require(expected == actual, f"{field}: expected {expected!r}, got {actual!r}")


def require_accepted(cell: MatrixCell) -> None:
    """Raise Miss if the referee rejected a request, in its words."""
    if rejections := cell.referee.rejections():
        raise Miss(f"the service rejected the request: {rejections[0]}")
    require(cell.referee.requests, "no request arrived")


def ask_through(
    front: Any, cell: MatrixCell, history: list[Any], level: str | None, **options: Any
) -> Answer:
    """Ask; an error of the gateway is a miss, and the referee's words come first."""
    try:
        answer: Answer = front.ask(cell.name, history, level, **options)
    except front.errors as error:
        raise error_of(cell, error) from None
    require_accepted(cell)
    return answer


def error_of(cell: MatrixCell, error: Exception) -> Miss:
    """Return the miss for an error of the gateway; the referee's words come first."""
    if rejections := cell.referee.rejections():
        return Miss(f"the service rejected the request: {rejections[0]}")
    where = "" if cell.referee.requests else ", and no request arrived"
    return Miss(f"the gateway answered with an error{where}: {error}")


# -- levels and thinking ---------------------------------------------------------------------------


def level_arrives(front: Any, cell: MatrixCell, level: str, *, stream: bool = False) -> int | None:
    """The level arrives as this model's own; return its budget if that is a number of tokens."""
    cell.referee.expect(ScriptedTurn(thinking=THOUGHT, text=SUNNY))
    answer = ask_through(front, cell, front.user(QUESTION), level, stream=stream)
    require_same("the text", SUNNY, answer.text)
    return _level_read(cell, level) if front.states_levels else None


def _level_read(cell: MatrixCell, level: str, back: Back | None = None) -> int | None:
    read, wanted = cell.referee.read(), plan(f"{(back or cell.back).model}/{level}")
    require(read, "the service cannot read the request")
    intent = read.intent if read is not None else None
    kind = intent.kind if intent is not None else None
    if intent is not None and intent.kind == "budget":
        require(intent.tokens, f"the level {level} arrived as a budget of 0")
        return intent.tokens
    if intent is not None and intent.kind == "level":
        require_same(f"the level that arrived for {level}", wanted.level, intent.level)
        return None
    require(kind == "on" and wanted.level == "on", f"{level} was asked, and {kind} arrived")
    return None


def check_levels(front: Any, cell: MatrixCell) -> None:
    """Low and high arrive as what this model calls them; as budgets, low is less than high."""
    budgets = []
    for each in ("low", "high"):
        cell.referee.reset()
        budgets.append(level_arrives(front, cell, each, stream=True))
    low, high = budgets
    if low is not None and high is not None:
        require(low < high, f"low arrived as {low} tokens, and high as {high}")


def check_off(front: Any, cell: MatrixCell) -> None:
    """Off arrives as off, or as the least that the model has; no thinking comes back."""
    if not front.has_off:
        raise NotApplicable("this client API has no word for off")
    answer = ask_through(front, cell, front.user("What is 17 * 23?"), "off")
    require("391" in answer.text, f"the text: expected 391, got {answer.text!r}")
    read, wanted = cell.referee.read(), plan(f"{cell.back.model}/off")
    is_off = read is not None and _is_off(read.intent, wanted, thinks=read.thinks)
    require(is_off, "off did not arrive")
    if wanted.will_think is False:
        require_same("the thinking", "", answer.thinking)


def _is_off(intent: Any, wanted: Plan, *, thinks: bool) -> bool:
    if wanted.will_think is False:
        return not thinks
    return intent.kind == "off" or wanted.level == intent.level or intent.tokens is not None


def thinking_comes_back(front: Any, cell: MatrixCell, *, stream: bool, level: str = "high") -> None:
    """The thinking comes back as the service wrote it."""
    cell.referee.expect(ScriptedTurn(thinking=THOUGHT, text=SUNNY))
    answer = ask_through(front, cell, front.user(QUESTION), level, stream=stream)
    require_same("the text", SUNNY, answer.text)
    require_same("the thinking", cell.referee.decode_answer(0).thinking, answer.thinking)


def check_whole_thinking(front: Any, cell: MatrixCell) -> None:
    """Thinking comes back whole, streamed and in one piece, also before a tool call."""
    for stream in (True, False):
        cell.referee.reset()
        thinking_comes_back(front, cell, stream=stream)
    cell.referee.reset()
    call_with_thinking(front, cell)


def call_with_thinking(front: Any, cell: MatrixCell) -> None:
    """A call streams with its arguments, and the thinking before it."""
    _, answer = _first_turn(front, cell)
    calls = [(call.name, call.arguments) for call in answer.calls]
    require_same("the calls", [(NAME, {"city": "Paris"})], calls)
    require_same("the thinking", cell.referee.decode_answer(0).thinking, answer.thinking)


# -- turns -----------------------------------------------------------------------------------------


def _make_calling_turn(*cities: str) -> ScriptedTurn:
    calls = tuple(ScriptedCall(NAME, {"city": city}) for city in cities)
    return ScriptedTurn(thinking=THOUGHT, tool_calls=calls)


def _first_turn(front: Any, cell: MatrixCell, *cities: str) -> tuple[list[Any], Answer]:
    cell.referee.expect(_make_calling_turn(*(cities or ("Paris",))))
    history = front.user(QUESTION)
    answer = ask_through(front, cell, history, "high", tools=True)
    require(answer.calls, "the tool call did not come back")
    return [*history, *answer.keep], answer


def _second_turn(front: Any, cell: MatrixCell) -> list[Any]:
    history, answer = _first_turn(front, cell)
    cell.referee.expect(ScriptedTurn(thinking="Now I know it.", text=SUNNY))
    history += front.results(answer.calls, [RESULT])
    second = ask_through(front, cell, history, "high", tools=True)
    require_same("the text of turn two", SUNNY, second.text)
    return [*history, *second.keep]


def signatures(said: Decoded) -> list[str]:
    """Return every opaque value of an answer."""
    found: list[str] = []

    def look(value: object) -> None:
        if isinstance(value, str) and len(value) >= 24:
            found.append(value)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key != "id":  # names an item, and signs nothing
                    look(each)
        elif isinstance(value, list | tuple):
            for each in value:
                look(each)

    for _, _, signature in said.seals:
        look(signature.value)
    return found


def goes_back(referee: Referee, answered: int, number: int) -> None:
    """Raise Miss unless every signature of an answer is in a later request, byte for byte."""
    sent = referee.bodies[number]
    for value in signatures(referee.decode_answer(answered)):
        # Google's SDK writes bytes in the other alphabet of base64.
        either = (value, value.translate(_OTHER_ALPHABET))
        there = any(each.encode() in sent for each in either)
        require(there, f"the signature {value[:40]}... did not go back on turn {number + 1}")


def signature_turn_two(front: Any, cell: MatrixCell) -> None:
    """On turn two, with the tool's result, the service gets its own signatures back."""
    _second_turn(front, cell)
    require_same("the statuses", [200, 200], cell.referee.statuses)
    goes_back(cell.referee, 0, 1)


def third_turn(front: Any, cell: MatrixCell) -> None:
    """The conversation goes on for a third turn."""
    history = _second_turn(front, cell)
    cell.referee.expect(ScriptedTurn(thinking="Once more.", text="London is wet."))
    longer = [*history, *front.user("And in London?")]
    answer = ask_through(front, cell, longer, "high", tools=True)
    require_same("the text of turn three", "London is wet.", answer.text)
    require_same("the statuses", [200, 200, 200], cell.referee.statuses)


def signature_turn_three(front: Any, cell: MatrixCell) -> None:
    """On turn three the signatures of the tool loop are still there, if the service takes them."""
    third_turn(front, cell)
    read = cell.referee.read()
    if read is not None and _wants_past(cell):
        goes_back(cell.referee, 0, 2)


def _wants_past(cell: MatrixCell) -> bool:
    """Return whether the service is known to want the signatures of an earlier loop."""
    from ..runner import find_model  # noqa: PLC0415 - it imports the backends

    provider, _, model = cell.back.model.partition(":")
    return find_model(provider, model).capability.replay == "required"


# -- counts, switches, errors ----------------------------------------------------------------------


def usage(front: Any, cell: MatrixCell) -> None:
    """The counts are the service's: input with its cache, output with its thinking."""
    counts = Usage(120, 0, None, 40, 55, 215)
    cell.referee.expect(ScriptedTurn(thinking=THOUGHT, text=SUNNY, usage=counts))
    answer = ask_through(front, cell, front.user(QUESTION), "high")
    sent = cell.referee.decode_answer(0).usage or Usage()
    given = (sent.input or 0) + (sent.cache_read or 0) + (sent.cache_write or 0)
    require_same("the input tokens", given, answer.usage["input"])
    require_same(
        "the output tokens", (sent.output or 0) + (sent.thinking or 0), answer.usage["output"]
    )
    if answer.usage["thinking"] is not None and sent.thinking is not None:
        require_same("the thinking tokens", sent.thinking, answer.usage["thinking"])


def switch(front: Any, cell: MatrixCell) -> None:
    """Another model continues after a whole turn; it gets no signature of the first."""
    history = _second_turn(front, cell)
    check_other_model(front, cell, history, front.user("Is that so?"))


def switch_in_loop(front: Any, cell: MatrixCell) -> None:
    """Another model continues in the middle of a tool loop."""
    history, answer = _first_turn(front, cell)
    check_other_model(front, cell, history, front.results(answer.calls, [RESULT]))


def check_other_model(
    front: Any, cell: MatrixCell, history: list[Any], question: list[Any]
) -> None:
    """Ask the other model, and check what it gets."""
    if cell.other is None or cell.other_back is None:
        raise NotApplicable("there is only one model")
    before = len(cell.referee.requests)
    cell.referee.expect(ScriptedTurn(thinking="Another mind.", text="Yes."))
    there = MatrixCell(cell.other, cell.other_back, cell.referee)
    answer = ask_through(front, there, [*history, *question], "high", tools=True)
    require_same("the text of the other model", "Yes.", answer.text)
    body = cell.referee.bodies[-1]
    for number in range(before):
        for value in signatures(cell.referee.decode_answer(number)):
            foreign = value.encode() in body
            require(not foreign, f"{cell.other} got a signature of {cell.name}: {value[:40]}...")
    if front.states_levels:
        _level_read(there, "high")


COMPACT = (  # what makes agents shorten a conversation, each in its own API
    "too long",
    "context_length_exceeded",
    "exceeds the maximum number of tokens allowed",
)


def errors(front: Any, cell: MatrixCell) -> None:
    """A rate limit and a prompt that is too long are the client API's own errors."""
    trouble = _fails(front, cell, Fault.parse("429 7"))
    require_same("the status of a rate limit", 429, trouble.status)
    if front.has_retry_after:
        require_same("its seconds to wait", 7.0, trouble.retry_after and float(trouble.retry_after))
    upstream = find_upstream(cell.back.provider)
    words, code = upstream.too_long, upstream.too_long_code
    trouble = _fails(front, cell, Fault(kind="status", status=400, message=words, code=code))
    require_same("the status of a prompt that is too long", 400, trouble.status)
    known = any(each in trouble.words for each in COMPACT)
    require(known, f"no words that make agents shorten the conversation: {trouble.words[:300]}")


def _fails(front: Any, cell: MatrixCell, fault: Fault) -> Any:
    cell.referee.faults.extend([fault] * _FAULTS)
    try:
        front.ask(cell.name, front.user(QUESTION), None)
    except front.errors as error:
        return front.trouble(error)
    finally:
        cell.referee.faults.clear()
    raise Miss(f"the service answered {fault.status}, and the client got an answer")


def hang_up(front: Any, cell: MatrixCell) -> None:
    """If the client hangs up, the request at the service ends too."""
    if not getattr(front, "streams", True):
        raise NotApplicable("this run is without streams")
    words = " ".join(f"word{number}" for number in range(400))
    cell.referee.expect(ScriptedTurn(text=words, fault=Fault(kind="slow", seconds=0.05)))
    try:
        close = front.begin(cell.name, front.user(QUESTION))
    except front.errors as error:
        raise error_of(cell, error) from None
    close()
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and _end(cell) is None:
        time.sleep(0.01)
    if cell.referee.requests:  # else the gateway had not asked yet, and never did
        require_same("the end of the request at the service", "closed", _end(cell))


def _end(cell: MatrixCell) -> str | None:
    entries = [entry for entry in cell.referee.log.entries if entry.dialect is not None]
    return entries[0].end if entries else None


def parallel_calls(front: Any, cell: MatrixCell) -> None:
    """Two calls of one answer, and their results, keep their order and their ids."""
    history, answer = _first_turn(front, cell, "Paris", "London")
    require_same(
        "the calls", ["Paris", "London"], [call.arguments["city"] for call in answer.calls]
    )
    cell.referee.expect(ScriptedTurn(thinking="Both.", text="Sunny and wet."))
    history += front.results(answer.calls, ["sunny", "wet"])
    second = ask_through(front, cell, history, "high", tools=True)
    require_same("the text", "Sunny and wet.", second.text)
    sent = cell.referee.bodies[-1]
    require(b"sunny" in sent and b"wet" in sent, "a result did not arrive")
    require(sent.index(b"sunny") < sent.index(b"wet"), "the results changed places")


Check = Callable[[Any, MatrixCell], None]
