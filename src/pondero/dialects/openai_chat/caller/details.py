"""Thinking as a list of details: the raw list is what goes back, its texts are what is read.

Deltas belong together by type and index (one upstream sends text and encrypted details under the
same index); what cannot be added up stands alone.
"""

from pondero.canon import Json

_TEXTS = ("text", "summary")
_ADD_UP = ("reasoning.text", "reasoning.summary")


class Details:
    """Feed lists of details as they come; ``value()`` is the merged list."""

    def __init__(self) -> None:
        self._details: list[dict[str, Json]] = []
        self._texts: list[dict[str, list[str]]] = []
        self._slots: dict[tuple[Json, Json], int] = {}
        self._last: tuple[dict[str, Json], list[str]] = ({}, [])  # all but the text of the last

    def feed(self, details: list[dict[str, Json]]) -> str:
        """Take a list, whole or in deltas; return the readable text it adds."""
        if len(details) == 1 and (more := self._more(details[0])):
            return more
        readable: list[str] = []
        for position, detail in enumerate(details):
            index = detail.get("index")
            key = (str(detail.get("type")), position if index is None else str(index))
            slot = self._slots.get(key)
            if slot is None or not self._belongs(slot, detail):
                slot = self._slots[key] = len(self._details)
                self._details.append({})
                self._texts.append({})
            self._merge(slot, detail, readable)
        return "".join(readable)

    def value(self) -> list[Json]:
        """Return the details so far, each as its maker would have sent it whole."""
        return [
            {**detail, **{key: "".join(texts) for key, texts in parts.items()}}
            for detail, parts in zip(self._details, self._texts, strict=True)
        ]

    def _more(self, detail: dict[str, Json]) -> str | None:
        """The text of a detail that goes on like the last one, as nearly all do; else None."""
        known, texts = self._last
        text = detail.get("text")
        if (
            isinstance(text, str)
            and len(detail) == len(known) + 1
            and detail.get("index") == known.get("index")
            and detail.get("type") == known.get("type")
            and detail.get("id") == known.get("id")
            and "signature" not in detail
        ):
            texts.append(text)
            return text
        return None

    def _belongs(self, slot: int, detail: dict[str, Json]) -> bool:
        known = self._details[slot]
        if detail.get("type") not in _ADD_UP:
            return False
        return known.get("id") is None or detail.get("id") in (None, known["id"])

    def _merge(self, slot: int, detail: dict[str, Json], readable: list[str]) -> None:
        known, texts = self._details[slot], self._texts[slot]
        for key, value in detail.items():
            if key in _TEXTS and isinstance(value, str):
                texts.setdefault(key, []).append(value)
                readable.append(value)
            elif value is not None or key not in known:
                known[key] = value
        if texts.keys() == {"text"} and detail.get("type") in _ADD_UP:
            self._last = known, texts["text"]
