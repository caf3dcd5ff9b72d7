"""/undo, /edit and /copy: the turn stays in its thread, the chat continues in a copy without."""

from ....canon import Blob, Image, Message, Text
from .. import actions, effects
from ..catalog_view import DialView
from ..effects import Transition
from ..state import ChatState, DraftQuestion, ThreadMessage


def undo(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    """Take the last turn back; its words go to the input line."""
    return state, (effects.Recall("undo"),)


def edit_command(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    """Change the last question and ask it again."""
    return state, (effects.Recall("edit"),)


def copy(state: ChatState, argument: str, _dial: DialView) -> Transition:
    """Copy the last answer, or one block of code in it."""
    if argument and not argument.isdecimal():
        return state.tell("/copy copies the answer, /copy 2 its second block of code"), ()
    return state, (effects.Recall("copy", (argument,) if argument else ()),)


def on_undo(state: ChatState, action: actions.LastTurnLoaded, _dial: DialView) -> Transition:
    """Take the turn back."""
    question = action.turn[0]
    return take_back(state, restore_question(question), question.number, "taken back")


def on_edited(state: ChatState, action: actions.LastTurnLoaded, _dial: DialView) -> Transition:
    """Let the user change its question."""
    question = action.turn[0]
    return state, (effects.Edit(restore_question(question), question.number),)


def on_copied(state: ChatState, action: actions.LastTurnLoaded, _dial: DialView) -> Transition:
    """Copy its answer."""
    answer = answer_text(action.turn)
    if not answer:
        return state.tell("there is no answer to copy"), ()
    if not action.level_texts:
        return state, (effects.Copy(answer, "the answer"),)
    number, blocks = int(action.level_texts[0]), code_blocks(answer)
    if not 1 <= number <= len(blocks):
        has = f"{len(blocks)} blocks" if len(blocks) != 1 else "1 block"
        return state.tell(f"the answer has {has} of code; there is no number {number}"), ()
    return state, (effects.Copy(blocks[number - 1], f"block {number} of {len(blocks)}"),)


def take_back(
    state: ChatState, asked: DraftQuestion, number: int, hint: str, *, selected: bool = True
) -> Transition:
    """Take a turn back; its words go to the input line, and what was attached stays attached."""
    how = "/resume" if selected else "Ctrl+C, then /resume,"
    after = state.rewind(number).but(
        attached=(*asked.parts, *state.attached),
        taken_back=asked.parts,
        hint=f"{hint}; {how} restores it",
    )
    return after, (
        effects.Rewind(number),
        effects.RestoreInput(asked.words, selected, is_taken_back=True),
    )


def restore_question(question: ThreadMessage) -> DraftQuestion:
    """Return a question of the thread as it was asked."""
    return read_question(question.message)


def write_question(asked: DraftQuestion) -> Message:
    """Return a question as a message: attachments precede the words."""
    return Message("user", (*asked.parts, Text(asked.words)))


def read_question(message: Message) -> DraftQuestion:
    """Return the question that a message was made of."""
    parts = [part for part in message.parts if isinstance(part, Text | Image | Blob)]
    last = parts.pop() if parts and isinstance(parts[-1], Text) else Text("")
    return DraftQuestion(last.text if isinstance(last, Text) else "", tuple(parts))


def answer_text(turn: tuple[ThreadMessage, ...]) -> str:
    """Return the words of a turn's answer, of all its exchanges."""
    answers = (each.message.text for each in turn if each.message.role == "assistant")
    return "\n\n".join(text for text in answers if text.strip())


def code_blocks(text: str) -> tuple[str, ...]:
    """Return the blocks of code in a Markdown text, as the screen shows them."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 10 ms, and only /copy N needs it

    tokens = MarkdownIt("commonmark").parse(text)
    return tuple(token.content for token in tokens if token.type in ("fence", "code_block"))
