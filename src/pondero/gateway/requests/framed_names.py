"""What a question names by id, and says of stored answers, with another text in its place.

A question in a known frame names nothing, so only its own items differ, by its text.
"""

from msgspec import Struct
from msgspec.structs import replace

from ...canon import HttpRequest
from .kept_items import StoredContent


class FramedNames(Struct, frozen=True, eq=False):
    """All of it but the text: item number ``at`` of the input has that between ``around``."""

    stored: StoredContent
    at: int = 0
    around: tuple[bytes, bytes] = (b"", b"")

    def put(self, http: HttpRequest, text: bytes) -> StoredContent:
        """Return what resolving the names in a request with this text returns."""
        stored = self.stored
        said = stored.said
        if said is not None and said.input:
            before, after = self.around
            own = (*said.input[: self.at], b"%b%b%b" % (before, text, after))
            said = replace(said, input=own + said.input[self.at + 1 :])
        return replace(stored, http=http, own=None if stored.own is None else http, said=said)


def frame_names(stored: StoredContent, text: bytes) -> FramedNames:
    """Return what the question with this text names; the text is one whole string in it, once."""
    said, quoted = stored.said, b'"%b"' % text
    for at, item in enumerate(said.input if said is not None else ()):
        if quoted in item:
            before, _, after = item.partition(quoted)
            return FramedNames(stored, at, (before + b'"', b'"' + after))
    return FramedNames(stored)
