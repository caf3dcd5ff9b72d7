"""Tool calls put together from what each clone makes of them.

The id may come late or never, the name again and again, the arguments as text, as an object or
not at all; what a service adds to a call is kept and goes back with it.
"""

import base64
import hashlib

import msgspec

from pondero.canon import Json
from pondero.errors import Malformed

_KNOWN = {"index", "id", "type", "function", "custom"}


class Call:
    """One call while it arrives; ``part`` is its index among the answer's parts."""

    def __init__(self) -> None:
        self.part = -1
        self.answered = ""  # the id its result will name
        self.id = ""
        self.given: str | None = None  # the id as it came, were it empty
        self.name = ""
        self.custom = False
        self.texts: list[str] = []
        self.extras: dict[str, Json] = {}

    def feed(self, raw: dict[str, Json]) -> str:
        """Take the next piece; return the argument text it adds."""
        if not self.id and isinstance(given := raw.get("id"), str | int):
            self.id = self.given = str(given)
        for key, value in raw.items():
            if key not in _KNOWN and value is not None:
                self.extras[key] = value
        self.custom = self.custom or raw.get("type") == "custom"
        body = raw.get("custom" if self.custom else "function")
        if not isinstance(body, dict):
            return ""
        if isinstance(name := body.get("name"), str) and not self.name:
            self.name = name
        text = _text(body.get("input" if self.custom else "arguments"))
        if not self.texts and not self.custom:
            text = text.lstrip()
        if text:
            self.texts.append(text)
        return text

    def arguments(self) -> Json:
        """Return the arguments as JSON; a string where they are none."""
        text = "".join(self.texts)
        if self.custom:
            return text
        if not text:
            return {}
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return text
        return text if isinstance(value, str) else value

    def mint(self, answer: str | None, number: int) -> str:
        """Return an id of our own for a call that came without one."""
        seed = "\0".join((answer or "", str(number), self.name, *self.texts))
        digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
        return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")


class Calls:
    """The calls of one answer, by the index their service gives them."""

    def __init__(self) -> None:
        self._slots: dict[Json, Call] = {}
        self._calls: list[Call] = []

    def more(self, raw: dict[str, Json]) -> tuple[Call, str] | None:
        """Return the call and the text it adds where a piece is only that, as nearly all are."""
        if len(raw) == 2 and (call := self._slots.get(raw.get("index"))) is not None:
            body = raw.get("function")
            if isinstance(body, dict) and len(body) == 1:
                text = body.get("arguments")
                if isinstance(text, str) and call.texts:
                    call.texts.append(text)
                    return call, text
        return None

    def take(self, raw: dict[str, Json], position: int) -> tuple[Call, str]:
        """Return the call a piece belongs to, and the argument text it adds."""
        call = self._find(raw, position)
        return call, call.feed(raw)

    def unnumbered(self) -> list[Call]:
        """Return the calls that never got an id; raises Malformed where one never got a name."""
        for index, call in enumerate(self._calls):
            if not call.name:
                path = f"$.choices[0].message.tool_calls[{index}].function.name"
                raise Malformed("a tool call without a name", path=path)
        return [call for call in self._calls if not call.id]

    def _find(self, raw: dict[str, Json], position: int) -> Call:
        slot = raw.get("index")
        given = raw.get("id")
        if not isinstance(slot, int):
            slot = str(given) if given else -1 - position
        call = self._slots.get(slot)
        if call is None or _another(call, raw, given):
            call = self._slots[slot] = Call()
            self._calls.append(call)
        return call


def _another(call: Call, raw: dict[str, Json], given: Json) -> bool:
    """Some count every parallel call as the first, some not at all: a name begins a new one."""
    if not call.name or not _named(raw):
        return False
    if given and call.id:
        return str(given) != call.id
    return not given and not isinstance(raw.get("index"), int) and bool(call.texts)


def _named(raw: dict[str, Json]) -> bool:
    body = raw.get("custom") or raw.get("function")
    return isinstance(body, dict) and bool(body.get("name"))


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
