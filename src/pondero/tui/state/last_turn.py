"""Commands on the last turn: /undo, /edit and /copy.

The turn is looked up by an effect, because the page may show an older part of the thread. A turn
that is taken back, or asked again, stays where it was written: the chat goes on in a copy of the
thread that ends before it.
"""

from collections.abc import Callable

from ...canon import Text
from . import actions, effects
from .catalog_view import Dial
from .effects import Effects
from .state import Past, State

_NOTHING = "there is no question yet"


def undo(state: State, _argument: str, _dial: Dial) -> tuple[State, Effects]:
    """Take the last turn back; its words go to the input line."""
    return state, (effects.Recall("undo"),)


def edit(state: State, _argument: str, _dial: Dial) -> tuple[State, Effects]:
    """Change the last question and ask it again."""
    return state, (effects.Recall("edit"),)


def copy(state: State, argument: str, _dial: Dial) -> tuple[State, Effects]:
    """Copy the last answer, or one block of code in it."""
    if argument and not argument.isdecimal():
        return state.tell("/copy copies the answer, /copy 2 its second block of code"), ()
    return state, (effects.Recall("copy", (argument,) if argument else ()),)


def recalled(state: State, action: actions.Recalled, dial: Dial) -> tuple[State, Effects]:
    """Do what the turn was looked up for."""
    if not action.turn:
        return state.tell(_NOTHING), ()
    return _PURPOSES[action.purpose](state, action, dial)


def _undo(state: State, action: actions.Recalled, _dial: Dial) -> tuple[State, Effects]:
    question = action.turn[0]
    after = state.rewound(question.number).but(hint="taken back; /resume has the thread as it was")
    return after, (effects.Rewind(question.number), effects.Restore(words_of(question)))


def _edit(state: State, action: actions.Recalled, _dial: Dial) -> tuple[State, Effects]:
    question = action.turn[0]
    return state, (effects.Edit(words_of(question), question.number),)


def _copy(state: State, action: actions.Recalled, _dial: Dial) -> tuple[State, Effects]:
    answer = answer_of(action.turn)
    if not answer:
        return state.tell("there is no answer to copy"), ()
    if not action.wishes:
        return state, (effects.Copy(answer, "the answer"),)
    number, blocks = int(action.wishes[0]), code_blocks(answer)
    if not 1 <= number <= len(blocks):
        has = f"{len(blocks)} blocks" if len(blocks) != 1 else "1 block"
        return state.tell(f"the answer has {has} of code; there is no number {number}"), ()
    return state, (effects.Copy(blocks[number - 1], f"block {number} of {len(blocks)}"),)


def words_of(question: Past) -> str:
    """Return the words of a question, without what was attached to it."""
    return "\n".join(part.text for part in question.message.parts if isinstance(part, Text))


def answer_of(turn: tuple[Past, ...]) -> str:
    """Return the words of a turn's answer, of all its exchanges."""
    answers = (each.message.text for each in turn if each.message.role == "assistant")
    return "\n\n".join(text for text in answers if text.strip())


def code_blocks(text: str) -> tuple[str, ...]:
    """Return the blocks of code in a Markdown text, as the screen shows them."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 10 ms, and only /copy N needs it

    tokens = MarkdownIt("commonmark").parse(text)
    return tuple(token.content for token in tokens if token.type in ("fence", "code_block"))


_PURPOSES: dict[
    effects.Purpose, Callable[[State, actions.Recalled, Dial], tuple[State, Effects]]
] = {"undo": _undo, "edit": _edit, "copy": _copy}
