"""Reads a plain whole answer: thinking in one field, a text, and the data around them.

Nearly all whole answers are plain, and the builder takes twice as long, because it reads pieces in
any order. All else, and every error, is left to it; ``tests/laws/test_plain_answers.py`` compares.
"""

from msgspec import UNSET

from pondero.canon import (
    Event,
    Finished,
    Json,
    PartEnd,
    PartStart,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
)
from pondero.dialects.dialect import AnswerContext

from .parts import NAME, Answer, Choice, Delta
from .quirks import Quirks
from .usage import finish_of, note_counts, usage_of

_THINKING_BEGINS = PartStart(0, "thinking")
_TEXT_BEGINS = (PartStart(0, "text"), PartStart(1, "text"))  # alone, and after the thinking


def read_plain(answer: Answer, where: AnswerContext, quirks: Quirks) -> list[Event] | None:
    """Return the events of an answer; None if it is not plain."""
    choices = answer.choices
    if not isinstance(choices, list) or len(choices) != 1 or where.candidate:
        return None
    (choice,) = choices
    said = choice.message
    if said is None or not isinstance(text := said.content, str) or not text.strip():
        return None
    if (
        _says_more(said)
        or _says_more_of_choice(choice, reads_logprobs=where.logprobs)
        or _says_more_of_answer(answer)
    ):
        return None
    thought = said.reasoning_content or said.reasoning or said.reasoning_text
    if not thought and "<" in text and quirks.think_tags != "no":
        return None  # it may begin with a tag
    answering = answer.model or None
    id = None if answer.id is None else str(answer.id) or None
    events: list[Event] = [Started(answering or where.model, id)]
    if thought:
        field = next((each for each in quirks.thinking_fields if getattr(said, each)), None)
        if field is None or field == "reasoning_details":
            return None  # a field in which this service has none
        thinking = getattr(said, field)
        sign = Signature(NAME, {field: True}, where.model or answering, where.route)
        events += (
            _THINKING_BEGINS,
            ThinkingDelta(0, thinking),
            PartEnd(0, Thinking(thinking, sign)),
        )
    at = 1 if thought else 0
    part = Text(text, None, (), tokens=UNSET)
    last = _finish(answer, choice, where, quirks, thought=bool(thought))
    events += (_TEXT_BEGINS[at], TextDelta(at, text), PartEnd(at, part), last)
    return events


def _says_more(said: Delta) -> bool:
    return bool(
        said.tool_calls
        or said.refusal
        or said.annotations
        or said.reasoning_details
        or said.function_call
        or said.images
        or said.audio
        or said.extra_content
        or said.thought_signature
        or said.executed_tools
        or said.provider_metadata
    )


def _says_more_of_choice(choice: Choice, *, reads_logprobs: bool) -> bool:
    return bool(
        choice.index
        or (choice.logprobs and reads_logprobs)
        or choice.native_finish_reason
        or choice.content_filter_results
        or choice.usage
        or choice.error
    )


def _says_more_of_answer(answer: Answer) -> bool:
    return bool(
        answer.provider
        or answer.x_groq
        or answer.citations
        or answer.search_results
        or answer.prompt_filter_results
        or answer.cost
        or answer.error
    )


def _finish(
    answer: Answer, choice: Choice, where: AnswerContext, quirks: Quirks, *, thought: bool
) -> Finished:
    extras: dict[str, Json] = {}
    if answer.service_tier:
        extras["service_tier"] = answer.service_tier
    counts, raw = answer.usage or None, choice.finish_reason or None
    usage = usage_of(counts, outside=quirks.thinking_outside_completion)
    note_counts(extras, counts, usage)
    finish = finish_of(
        raw,
        calls=False,
        text=True,
        refused=False,
        thought=thought or bool(usage.thinking),
        failed=False,
    )
    return Finished(
        finish,
        usage,
        raw_finish=raw,
        model=answer.model or where.model,
        extras=extras or None,
    )
