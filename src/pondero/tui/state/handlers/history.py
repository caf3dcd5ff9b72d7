"""Messages of a thread as cells, and which part of the thread is on the page."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby

import msgspec
from msgspec.structs import replace

from ....canon import (
    Blob,
    Image,
    Json,
    LevelUpdate,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from ....errors import PonderoError
from .. import actions, effects
from ..catalog_view import DialView
from ..cells import AnswerCell, Cell, ModelCell, Nature, ThinkingCell, ToolCallCell, UserCell
from ..effects import Transition
from ..state import ChatState, SavedThread, SentPlan, ThreadMessage, UsageTally
from .model_switch import switch_model

_LONGEST = 400
_CUT = "stopped here"


_NO_MODELS: Mapping[int, str] = {}


def cells_of(
    past: Iterable[ThreadMessage],
    dial: DialView,
    *,
    keys: Iterator[int],
    opened: bool = False,
    models: Mapping[int, str] = _NO_MODELS,
) -> tuple[Cell, ...]:
    """Return the cells of these messages; ``models``: whose names to say, see ``find_models``."""
    cells: list[Cell] = []
    draw(cells, past, dial, keys=keys, opened=opened, models=models)
    return tuple(cells)


def find_models(past: Iterable[ThreadMessage], before: str) -> dict[int, str]:
    """Return the model of each answer that is not by the model before it, by message number."""
    found: dict[int, str] = {}
    for each in past:
        if (name := name_model(each)) and name != before:
            found[each.number] = before = name
    return found


def name_model(each: ThreadMessage) -> str:
    """Return the model that wrote a message, with its provider; empty if none did."""
    origin = each.message.origin
    if each.message.role != "assistant" or origin is None:
        return ""
    return f"{origin.provider}:{origin.model}"


def draw(
    cells: list[Cell],
    past: Iterable[ThreadMessage],
    dial: DialView,
    *,
    keys: Iterator[int],
    opened: bool,
    models: Mapping[int, str],
) -> None:
    """Append the cells of these messages; a tool result joins the cell of its call."""
    for each in past:
        if each.number in models:
            cells.append(ModelCell(key=next(keys), model=models[each.number], number=each.number))
        shown = [part for part in each.message.parts if _is_shown(part)]
        tokens = each.usage.thinking if len(shown) < 2 else None
        summary = dial.summarises(each.message.origin)
        if tokens and not shown:
            cells.append(_make_thought(each, next(keys), tokens=tokens, nature="hidden"))
        before = len(cells)
        if each.message.role == "user" and (asked := _question_text(each.message)):
            cells.append(UserCell(key=next(keys), text=asked, number=each.number))
            continue
        for part in each.message.parts:
            if isinstance(part, ToolResult):
                _join_result(cells, part, keys, each.number)
            elif isinstance(part, Thinking):
                if part in shown:
                    nature = _nature(part, summary=summary)
                    thought = _make_thought(each, next(keys), tokens=tokens, nature=nature)
                    cells.append(msgspec.structs.replace(thought, text=part.text, open=opened))
            elif (cell := _cell(part, each, next(keys))) is not None:
                cells.append(cell)
        if each.partial:
            _mark_cut(cells, before, next(keys), each.number)


_FILE = re.compile(r"[^\n]+:\n\n`{3,}\n")  # how a text file is attached


def _question_text(message: Message) -> str:
    """Return a question as it was shown when it was sent; empty for tool results."""
    parts = [part for part in message.parts if isinstance(part, Text | Image | Blob)]
    if len(parts) < len(message.parts):
        return ""
    lines = (
        describe_attachment(part)
        if not isinstance(part, Text) or (part is not parts[-1] and _FILE.match(part.text))
        else part.text
        for part in parts
    )
    return "\n".join(line for line in lines if line.strip())


def _mark_cut(cells: list[Cell], first: int, key: int, number: int) -> None:
    """Say where a message was cut off: below its last cell, or alone if nothing of it came."""
    if len(cells) > first and isinstance(last := cells[-1], AnswerCell | ThinkingCell):
        cells[-1] = replace(last, cut=_CUT)
    elif len(cells) == first:
        cells.append(AnswerCell(key=key, cut=_CUT, number=number))


def format_arguments(arguments: Json) -> str:
    """Return a call's arguments in one readable line."""
    if isinstance(arguments, dict):
        pairs = (
            f"{name}={msgspec.json.encode(value).decode()}" for name, value in arguments.items()
        )
        return shorten_line(", ".join(pairs))
    return shorten_line(arguments if isinstance(arguments, str) else str(arguments or ""))


def result_of(result: ToolResult) -> str:
    """Return what a tool gave back, in one line."""
    return shorten_line(" ".join(_words(part) for part in result.content))


def describe_attachment(part: Text | Image | Blob) -> str:
    """Return an attachment's name or kind in brackets, without its content."""
    if isinstance(part, Text):
        return f"[{part.text.partition(chr(10))[0].removesuffix(':')[:80]}]"
    return _words(part)


def shorten_line(text: str) -> str:
    """Return the text in one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def join_results(cells: Sequence[Cell], messages: Iterable[Message]) -> tuple[Cell, ...]:
    """Return the cells with the tool results of these messages joined to their calls."""
    changed = list(cells)
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                _join_result(changed, part, None, None)
    return tuple(changed)


def _nature(part: Thinking, *, summary: bool) -> Nature:
    if part.redacted:
        return "redacted"
    return "summary" if summary else "full"


def last_model(past: Sequence[ThreadMessage]) -> str:
    """Return the model of the last answer among these messages; empty if there is none."""
    return next(filter(None, map(name_model, reversed(past))), "")


def find_sent(past: Sequence[ThreadMessage], dial: DialView) -> SentPlan | None:
    """Return how the last answer among these messages was asked for; None if that is unknown."""
    answers = (each.message.origin for each in reversed(past) if each.message.role == "assistant")
    if (origin := next(answers, None)) is None or origin.level is None:
        return None
    model = f"{origin.provider}:{origin.model}"
    try:
        return SentPlan(model, dial.plan(model, origin.level).fields)
    except PonderoError:
        return None


def _is_shown(part: Part) -> bool:
    return isinstance(part, Thinking) and (bool(part.text.strip()) or part.redacted)


def _make_thought(
    each: ThreadMessage, key: int, *, tokens: int | None, nature: Nature
) -> ThinkingCell:
    origin = each.message.origin
    return ThinkingCell(
        key=key,
        level=origin.level if origin else None,
        tokens=tokens,
        nature=nature,
        number=each.number,
    )


def _cell(part: Part, each: ThreadMessage, key: int) -> Cell | None:
    number = each.number
    if isinstance(part, ToolCall):
        words = format_arguments(part.arguments)
        return ToolCallCell(key=key, id=part.id, name=part.name, arguments=words, number=number)
    if isinstance(part, Thinking | ToolResult | LevelUpdate):
        return None
    text = _words(part)
    if each.message.role == "assistant":
        return AnswerCell(key=key, text=text, number=number) if text.strip() else None
    return UserCell(key=key, text=text, number=number) if text.strip() else None


def _join_result(
    cells: list[Cell], result: ToolResult, keys: Iterator[int] | None, number: int | None
) -> None:
    words = result_of(result)
    for at, cell in enumerate(cells):
        if isinstance(cell, ToolCallCell) and cell.id == result.call_id:
            cells[at] = msgspec.structs.replace(cell, result=words, failed=result.error, live=False)
            return
    if keys is not None:
        name = result.name or "tool"
        cells.append(
            ToolCallCell(
                key=next(keys),
                id=result.call_id,
                name=name,
                result=words,
                failed=result.error,
                number=number,
            )
        )


def _words(part: Text | Image | Blob | UnknownPart) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return f"[{part.media_type or 'a picture'}]"
        case Blob():
            return f"[{part.name or part.media_type}]"
        case _:
            return "[a part that only its maker reads]"


def cell_numbers(start: int) -> Iterator[int]:
    """Return keys for new cells, from this one on."""
    return count(start)


PAGE = 20
"""How many messages come to the page at once."""
MOST = 4 * PAGE
"""How many messages the page holds at most: memory does not grow with the thread."""

_FULL = 80
"""Lines that fill a usual screen: an opened thread shows no more, for drawing takes the time."""
_WIDTH = 80


def on_scrolled(state: ChatState, action: actions.Scrolled, _dial: DialView) -> Transition:
    """Load older or newer messages; the page never holds more than ``MOST``."""
    if action.to == "older" and state.first > 0:
        first = max(0, state.first - PAGE)
        return state, (effects.Fetch(first, min(state.last, first + MOST)),)
    if action.to == "newer" and state.last < state.count:
        last = min(state.count, state.last + PAGE)
        return state, (effects.Fetch(max(state.first, last - MOST), last),)
    return state, ()


def on_opened(state: ChatState, action: actions.ThreadOpened, dial: DialView) -> Transition:
    """Show the end of another thread, and continue with its model."""
    keys = cell_numbers(state.next_key)
    empty = state.clear().but(system=action.system)
    there = _find_model(action, dial)
    after = switch_model(empty, *(there or (state.model, state.level_text)), dial)
    past = _screenful(action.past)
    models = find_models(past, after.model)
    cells = cells_of(past, dial, keys=keys, opened=state.show == "open", models=models)
    first = past[0].number if past else 0
    after = after.but(
        thread=action.thread,
        page=cells,
        first=first,
        last=action.count,
        count=action.count,
        tally=_tally(action),
        next_key=next(keys),
        named=last_model(past) or after.model,
        sent=find_sent(action.past, dial),
        unsaved=None,
    )
    if there is None:
        missing = f"⚠ {action.model} is not known here; continuing with {after.model}"
        after = after.tell(missing, tone="warning")
    if state.paid and _is_emulated(past):
        after = after.tell(*_describe_emulated(action.thread), tone="warning")
    return after, (effects.CheckKey(after.model),)


def _is_emulated(past: Sequence[ThreadMessage]) -> bool:
    answers = (each for each in reversed(past) if each.message.role == "assistant")
    return next((each.offline for each in answers), False)


def _describe_emulated(thread: SavedThread | None) -> tuple[str, ...]:
    return (
        "⚠ The emulator wrote the last answer of this thread; a provider answers the next prompt",
        f"  → pondero chat --resume {thread.id if thread else ''} --offline continues it offline",
    )


def _screenful(past: tuple[ThreadMessage, ...]) -> tuple[ThreadMessage, ...]:
    lines = 0
    for at in range(len(past) - 1, -1, -1):
        message = past[at].message
        lines += 2 + message.text.count("\n") + len(message.text) // _WIDTH
        if lines >= _FULL and message.role == "user":
            return past[at:]
    return past


def _tally(action: actions.ThreadOpened) -> UsageTally:
    counted = (each for each in reversed(action.past) if each.usage.known_total)
    if (last := next(counted, None)) is None:
        return action.tally
    return replace(action.tally, last=last.usage, last_cost=last.cost)


def _find_model(action: actions.ThreadOpened, dial: DialView) -> tuple[str, str | None] | None:
    """Return a thread's model and level; None if the catalog no longer has that model."""
    try:
        name, said = dial.split(action.model)
        dial.plan(name, action.level_text or said)
    except PonderoError:
        return None
    return name, action.level_text or said


def on_page_loaded(state: ChatState, action: actions.PageLoaded, dial: DialView) -> Transition:
    """Show another part of the thread; cells that are on the page already stay as they are."""
    last = action.first + len(action.past)
    here: dict[int, list[Cell]] = {}
    for cell in state.page:
        if cell.number is not None:
            here.setdefault(cell.number, []).append(cell)
    begins = {n: first for first, end in state.turns for n in range(first, end) if first in here}
    keys = cell_numbers(state.next_key)
    models = find_models(action.past, state.model)
    cells: list[Cell] = []
    for number, group in groupby(action.past, lambda each: begins.get(each.number, each.number)):
        if number in here:
            cells += here[number]
        else:
            draw(cells, group, dial, keys=keys, opened=state.show == "open", models=models)
    if last >= state.count:
        cells += [c for c in state.page if c.number is None or c.number >= state.count]
    return state.but(page=tuple(cells), first=action.first, last=last, next_key=next(keys)), ()


def trim_page(state: ChatState) -> ChatState:
    """Return the state without the oldest messages, if the page has become too long."""
    first = max(state.first, state.last - MOST)
    if first == state.first:
        return state
    page = tuple(c for c in state.page if c.number is None or c.number >= first)
    turns = tuple(turn for turn in state.turns if turn[0] >= first)
    return state.but(page=page, first=first, turns=turns)
