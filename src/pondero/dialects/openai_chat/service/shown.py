"""Where each service puts the thinking it shows: one way for each of them, whole and streamed."""

from typing import Protocol

from pondero.canon import Json, Thinking

from .models import Form, Model, Place, Service
from .parts import own
from .seals import stamp

_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
_FORMATS: dict[Form, str] = {
    "signed": "anthropic-claude-v1",
    "plain": "unknown",
    "summary": "openai-responses-v1",
    "text": "google-gemini-v1",
}


class Shower(Protocol):
    """Puts thinking into an answer."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put all of it into a message that has its content already."""
        ...

    def more(self, text: str) -> Json:
        """Return the delta that says a little more of it."""
        ...

    def end(self, part: Thinking, /) -> Json:
        """Return the delta that ends it, or None."""
        ...


class Nowhere:
    """The service keeps its thinking to itself."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put nothing."""

    def more(self, text: str) -> Json:
        """Say nothing."""

    def end(self, part: Thinking, /) -> Json:
        """Say nothing."""


class InField:
    """A string in a field of the message."""

    def __init__(self, field: str) -> None:
        self._field = field

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put the words there."""
        if text := "".join(part.text for part in parts):
            message[self._field] = text

    def more(self, text: str) -> Json:
        """Return the words in their field."""
        return {self._field: text}

    def end(self, part: Thinking, /) -> Json:
        """Say nothing: the field needs no end."""


class InDetails:
    """A list of details, sealed as the upstream seals, and the words once more beside it.

    ``signed``: a text with its signature; ``plain``: a text; ``summary`` and ``text``: one of
    these, and the sealed thinking in a detail of its own under the same index.
    """

    def __init__(self, model: str, form: Form) -> None:
        self._model = model
        self._form = form
        self._index = 0

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put words and details."""
        details = [detail for index, part in enumerate(parts) for detail in self._of(part, index)]
        if details:
            message["reasoning"] = "".join(part.text for part in parts) or None
            message["reasoning_details"] = details

    def more(self, text: str) -> Json:
        """Return the words twice, as routers do."""
        return {"reasoning": text, "reasoning_details": [self._words(text, self._index)]}

    def end(self, part: Thinking, /) -> Json:
        """Return the seal alone; the next thought has the next index."""
        details = self._of(part, self._index)
        self._index += 1
        sealed = [
            {key: value for key, value in detail.items() if key not in ("text", "summary")}
            for detail in details
            if "signature" in detail or "data" in detail or "id" in detail
        ]
        return {"content": "", "reasoning": None, "reasoning_details": sealed} if sealed else None

    def _of(self, part: Thinking, index: int) -> list[Json]:
        if given := own(part.seal).get("reasoning_details"):
            return list(given)
        seal, words = stamp(part.text, model=self._model), self._words(part.text, index)
        match self._form:
            case "signed":
                return [words | {"signature": seal}]
            case "plain":
                return [words]
            case _:
                sealed = {"type": "reasoning.encrypted", "data": seal, "index": index}
                return [words, sealed | {"format": _FORMATS[self._form]}]

    def _words(self, text: str, index: int) -> dict[str, Json]:
        kind = "summary" if self._form == "summary" else "text"
        about = {"format": _FORMATS[self._form], "index": index}
        return {"type": f"reasoning.{kind}", kind: text, **about}


class InChunks:
    """A part of the content, before the words."""

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Turn the content into a list, thinking first."""
        chunks: list[Json] = [
            {
                "type": "thinking",
                "closed": True,
                "thinking": [{"type": "text", "text": part.text}],
            }
            for part in parts
        ]
        if chunks and message.get("content"):
            chunks.append({"type": "text", "text": message["content"]})
        message["content"] = chunks or message.get("content")

    def more(self, text: str) -> Json:
        """Return an open chunk."""
        inner = [{"type": "text", "text": text}]
        return {"content": [{"type": "thinking", "closed": False, "thinking": inner}]}

    def end(self, _part: Thinking, /) -> Json:
        """Return the closed chunk."""
        return {"content": [{"type": "thinking", "closed": True, "thinking": []}]}


class InTags:
    """Between tags, at the beginning of the words."""

    def __init__(self) -> None:
        self._opened = False

    def whole(self, parts: list[Thinking], message: dict[str, Json]) -> None:
        """Put it before the words."""
        if text := "".join(part.text for part in parts):
            message["content"] = f"{_OPEN}{text}{_CLOSE}{message.get('content') or ''}"

    def more(self, text: str) -> Json:
        """Return more of the words, after the tag the first time."""
        opened, self._opened = self._opened, True
        return {"content": text if opened else _OPEN + text}

    def end(self, _part: Thinking, /) -> Json:
        """Return the closing tag."""
        return {"content": _CLOSE} if self._opened else None


def shower(service: Service, place: Place, *, model: str) -> Shower:
    """Return how this service shows thinking in that place."""
    match place:
        case "none":
            return Nowhere()
        case "reasoning_details":
            row = service.find(model) or Model()
            return InDetails(model, row.form or service.form)
        case "content_chunks":
            return InChunks()
        case "think_tags":
            return InTags()
        case field:
            return InField(field)
