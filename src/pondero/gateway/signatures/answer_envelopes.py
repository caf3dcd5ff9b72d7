"""The contents of the envelopes in an answer that a client sent back, in their places."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...canon import LevelUpdate, Origin, Part, Signature, Text, Thinking, ToolCall, ToolResult
from .client_parts import ClientPart
from .envelope import EnvelopeCall, EnvelopeHidden, EnvelopeText, EnvelopeThinking


class AnswerEnvelopes:
    """The contents of the envelopes of one answer."""

    def __init__(self, sent: Sequence[ClientPart], client_dialect: str) -> None:
        self._sent = sent
        self._client_dialect = client_dialect
        envelopes = [envelope for each in sent for envelope in each.envelopes]
        self.origin: Origin | None = envelopes[0].origin if envelopes else None
        self.answer: str | None = envelopes[0].answer if envelopes else None
        self._thoughts: dict[int, Thinking] = {}
        self._calls: dict[str, EnvelopeCall] = {}
        self._signatures: dict[int, Signature | None] = {}
        self._inside = False
        for each in sent:
            for envelope in each.envelopes:
                for entry in envelope.entries:
                    self._read_entry(entry, each.part)

    def _read_entry(
        self, entry: EnvelopeThinking | EnvelopeCall | EnvelopeText | EnvelopeHidden, beside: Part
    ) -> None:
        match entry:
            case EnvelopeThinking():
                self._inside = self._inside or bool(entry.text)
                beside_it = beside.text if isinstance(beside, Thinking) else ""
                text = beside_it if entry.text is None else entry.text
                known = self._thoughts.get(entry.at, Thinking(""))
                redacted = entry.redacted or known.redacted
                signature = entry.signature or known.signature
                self._thoughts[entry.at] = Thinking(known.text + text, signature, redacted)
            case EnvelopeCall():
                self._calls[entry.id] = entry
            case EnvelopeText():
                self._signatures[entry.number] = entry.signature
            case _:
                pass

    def parts(self) -> Iterator[Part]:
        """Yield the parts in the client's order, thinking at its envelope's place."""
        told: set[int] = set()
        texts = 0
        for each in self._sent:
            for entry in (entry for envelope in each.envelopes for entry in envelope.entries):
                if isinstance(entry, EnvelopeThinking | EnvelopeHidden) and entry.at not in told:
                    told.add(entry.at)
                    yield (
                        self._thoughts[entry.at]
                        if isinstance(entry, EnvelopeThinking)
                        else entry.part
                    )
            part = self._drop_client_signature(each.part)
            if isinstance(part, Text):
                yield replace(part, signature=self._signatures.get(texts, part.signature))
                texts += 1
            elif not isinstance(part, Thinking) or not (each.envelopes or self._inside):
                yield part

    def _drop_client_signature(self, part: Part) -> Part:
        """Return a part without data that the client's dialect added: ids, field names."""
        if (
            isinstance(part, ToolResult | LevelUpdate)
            or part.signature is None
            or part.signature.dialect != self._client_dialect
        ):
            return part
        return replace(part, signature=None)

    def call(self, call: ToolCall) -> ToolCall | None:
        """Return a call as its model gave it; without an id, the next one of its name."""
        id = call.id
        if call.minted:
            id = next((each.id for each in self._calls.values() if each.name == call.name), id)
        entry = self._calls.pop(id, None)
        if entry is None:
            return None
        own = entry.own or call.id
        return ToolCall(own, call.name, call.arguments, entry.signature, entry.minted, call.cache)
