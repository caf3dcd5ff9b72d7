"""Log probabilities of tokens in the form of OpenAI's APIs, which others have taken over."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from ..canon import Event, Json, PartEnd, Text, TextDelta, TokenLogprob


def read_logprobs(raw: Json) -> tuple[TokenLogprob, ...]:
    """Return the tokens of a list; what is not of this form is left out."""
    rows = raw if isinstance(raw, list) else ()
    found = (_read_token(each) for each in rows if isinstance(each, dict))
    return tuple(each for each in found if each is not None)


def _read_token(raw: dict[str, Json]) -> TokenLogprob | None:
    token, logprob, given = raw.get("token"), raw.get("logprob"), raw.get("bytes")
    if not isinstance(token, str) or not isinstance(logprob, int | float):
        return None
    try:
        data = bytes(given) if isinstance(given, list) else None
    except (TypeError, ValueError):
        data = None
    return TokenLogprob(token, float(logprob), data, read_logprobs(raw.get("top_logprobs")))


def write_logprobs(tokens: Iterable[TokenLogprob], top: int, *, spells: bool = False) -> list[Json]:
    """Return tokens with so many alternatives; ``spells``: bytes that are not known are UTF-8."""
    return [
        {
            **_write_token(each, spells=spells),
            "top_logprobs": [_write_token(other, spells=spells) for other in each.top[:top]],
        }
        for each in tokens
    ]


def _write_token(each: TokenLogprob, *, spells: bool) -> dict[str, Json]:
    data = each.data
    if data is None and spells:
        data = each.token.encode("utf-8", "replace")
    known = None if data is None else list(data)
    return {"token": each.token, "logprob": each.logprob, "bytes": known}


def fit_logprobs(tokens: Sequence[TokenLogprob], text: str) -> list[TokenLogprob]:
    """Return the last tokens, those of a text: services count thinking before it too."""
    left, begin = len(text.encode("utf-8", "replace")), len(tokens)
    while begin and left > 0:
        begin -= 1
        token = tokens[begin]
        left -= len(token.token.encode("utf-8", "replace") if token.data is None else token.data)
    return list(tokens[begin:])


def attach_logprobs(
    events: list[Event], begin: int, tokens: tuple[TokenLogprob, ...]
) -> int | None:
    """Add tokens to the last text of the events from ``begin`` on; return its index, if any."""
    for at in range(len(events) - 1, begin - 1, -1):
        event = events[at]
        if not isinstance(event, TextDelta):
            continue
        events[at] = TextDelta(event.index, event.text, (*event.logprobs, *tokens))
        for later in range(at + 1, len(events)):
            end = events[later]
            if isinstance(end, PartEnd) and end.index == event.index and isinstance(end.part, Text):
                part = replace(end.part, tokens=(*end.part.logprobs, *tokens) or UNSET)
                events[later] = PartEnd(end.index, part)
        return event.index
    return None
