"""Short ways to let things happen to a chat."""

from pondero.canon import (
    Finished,
    Message,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Usage,
)
from pondero.tui.state import ChatState, DialView, NoticeCell, actions, reduce
from pondero.tui.state.effects import Effects

USAGE = Usage(input=10, cache_read=0, output=5, thinking=40, total=55)
ANSWER = (
    Started("m"),
    PartStart(0, "thinking"),
    ThinkingDelta(0, "let me "),
    ThinkingDelta(0, "see"),
    PartEnd(0, Thinking("let me see")),
    PartStart(1, "text"),
    TextDelta(1, "It is "),
    TextDelta(1, "391."),
    PartEnd(1, Text("It is 391.")),
    Finished("stop", USAGE),
)
KEPT = (
    Message("user", (Text("17 * 23?"),)),
    Message("assistant", (Thinking("let me see"), Text("It is 391."))),
)


def do(state: ChatState, dial: DialView, *happened: actions.Action) -> ChatState:
    """Return the state after these actions, whatever they ask for."""
    for action in happened:
        state, _ = reduce(state, action, dial)
    return state


def say(state: ChatState, dial: DialView, text: str) -> tuple[ChatState, Effects]:
    """Return what comes of a line."""
    return reduce(state, actions.Submitted(text, 100.0), dial)


def ended(**how) -> actions.TurnEnded:
    """Return the end of a good turn, or of another one."""
    exchange = actions.ExchangeEnded(USAGE, "stop", "as_planned")
    return actions.TurnEnded(**{"at": 107.0, "stored": KEPT, "exchanges": (exchange,), **how})


def had(state: ChatState, dial: DialView, *, turns: int = 1) -> ChatState:
    """Return the state after so many whole turns."""
    for _ in range(turns):
        state, _ = say(state, dial, "17 * 23?")
        state = do(state, dial, actions.EventsArrived(ANSWER, 106.0), ended())
    return state


def told(state: ChatState) -> str:
    """Return what the chat said last."""
    last = state.page[-1]
    assert isinstance(last, NoticeCell)
    return "\n".join((*last.items, *last.lines))
