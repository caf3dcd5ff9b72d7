"""Files, addresses and bytes as parts of a question; the clients, ``ask`` and the chat call it.

What something is, its first bytes say, and its name only where they do not. Nothing is fetched
here: an address goes to the service as it is, where its wire takes addresses.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec.structs import replace

from ...canon import Blob, Image, Message, Part, Text
from ...catalog import ModelEntry
from ...errors import BadParameter, Unsupported
from ...exchange import make_destination
from ...handoff import accepts_media
from ...thinking import Policy

Attachment = Text | Image | Blob
Source = str | os.PathLike[str] | bytes | Attachment

LARGEST = 32 * 1024 * 1024
"""The most bytes that one attachment may have; of some kinds a service may take fewer."""

_SCHEMES = frozenset(("http", "https", "s3", "gs"))
_LOCAL = frozenset(("", "localhost"))
_USER = re.compile(r"[^:]+://[^/?#]*@")
_TICKS = re.compile("`{3,}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # one letter alone is a drive: C:\chart.png

# Where the mark of a format stands, the mark, and the format's media type.
_MARKS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypheix", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (0, b"%PDF-", "application/pdf"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)
# How a text says that it is not UTF-8.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def attachment(
    source: Source, *, name: str | None = None, media_type: str | None = None
) -> Attachment:
    r"""Return a file, an address or bytes as a part of a question.

    A ``source`` is a path, a URL, bytes, or a part already. Pictures become an ``Image``; PDFs,
    sound, film and office documents a ``Blob``; whatever is text a ``Text`` under the file's name.
    ``name`` and ``media_type`` are for what the source does not say itself. Raises BadParameter for
    what is not there, too large, or of no known kind.

    >>> pondero.attachment(b"a,b\n1,2\n", name="table.csv").text
    'table.csv:\n\n```\na,b\n1,2\n```'
    """
    given: object = source
    match given:
        case Text() | Image() | Blob():
            return given
        case bytes() | bytearray() | memoryview():
            return _part(bytes(given), name, media_type)
        case str() if found := _SCHEME.match(given):
            return _from_address(given, found[1].lower(), name, media_type)
        case str() | os.PathLike():
            return _from_file(os.fspath(given), name, media_type)
    kind = type(given).__name__
    message = f"an attachment is a path, a URL, bytes, an Image or a Blob, not {kind}"
    raise BadParameter(message)


def attachments_of(sources: Iterable[Source] | None) -> tuple[Attachment, ...]:
    """Return the parts that a question's attachments are."""
    if sources is None:
        return ()
    single = isinstance(sources, str | bytes | os.PathLike | Attachment)
    if single or not isinstance(sources, Iterable):
        kind = type(sources).__name__
        message = f"attachments is a list, also where there is one, not {kind}: attachments=[...]"
        raise BadParameter(message)
    return tuple(attachment(each) for each in sources)


def attach(messages: tuple[Message, ...], attachments: Sequence[Attachment]) -> tuple[Message, ...]:
    """Return the conversation with attachments before the words of its last message."""
    if not attachments:
        return messages
    *before, last = messages
    if last.role != "user":
        message = f"attachments go with a question, and the last message is of role {last.role!r}"
        raise BadParameter(message)
    return (*before, replace(last, parts=(*attachments, *last.parts)))


def check_readable(attachments: Iterable[Part], entry: ModelEntry, policy: Policy) -> None:
    """Raise Unsupported for an attachment that this model cannot be shown; nothing is sent then.

    A picture in the prompt itself, or in the past of a chat, is described in words instead.
    """
    takes = make_destination(entry, policy).takes
    for part in attachments:
        if not isinstance(part, Image | Blob) or accepts_media(takes, takes.media, part):
            continue
        kinds = " ".join(f"{each}*" for each in takes.media) or "text only"
        why = f"it reads {kinds}"
        if part.data is None and not takes.addresses:
            why = "it fetches no address; download the file and attach that"
        message = f"{entry.id} cannot be shown {_called(part)}: {why}"
        raise Unsupported(message)


# -- what something is -----------------------------------------------------------------------------


def _part(data: bytes, name: str | None, said: str | None) -> Attachment:
    called = name or "the attachment"
    if not data:
        message = f"{called} is empty"
        raise BadParameter(message)
    _check_size(len(data), called)
    kind = said or _marked(data)
    if kind is None and (text := _text(data)) is not None:
        return fence_text(text, name)
    kind = kind or _named(name)
    if kind is None:
        message = (
            f"{called} is no text, image or PDF, and of no other kind that its name tells; "
            "say its media_type with pondero.attachment(source, media_type=...)"
        )
        raise BadParameter(message)
    if kind.startswith("text/") and (text := _text(data)) is not None:
        return fence_text(text, name)
    return Image(kind, data) if kind.startswith("image/") else Blob(kind, data, name=name)


def _marked(data: bytes) -> str | None:
    found = (kind for at, mark, kind in _MARKS if data[at : at + len(mark)] == mark)
    return next(found, None)


def _named(name: str | None) -> str | None:
    from mimetypes import guess_type  # noqa: PLC0415 - only for media

    return guess_type(name)[0] if name else None


def _text(data: bytes) -> str | None:
    """Return the text that bytes are; None where they are none."""
    encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def fence_text(text: str, name: str | None) -> Text:
    """Return a text file as a part: its name, and its words between fences that it has not."""
    longest = max(map(len, _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    ended = text if text.endswith("\n") else f"{text}\n"
    return Text(f"{name or 'attachment'}:\n\n{fence}\n{ended}{fence}")


# -- where it is from ------------------------------------------------------------------------------


def _from_address(where: str, scheme: str, name: str | None, said: str | None) -> Attachment:
    if scheme == "data":
        return _part(_inlined(where), name, said or _said_type(where))
    if scheme in _SCHEMES:
        return _elsewhere(where, name, said)
    if scheme == "file":
        return _from_file(_path_in(where), name, said)
    if where[len(scheme) :].startswith("://"):
        message = f"{where!r} is no address that a service reads; use https, or a file's path"
        raise BadParameter(message)
    return _from_file(where, name, said)


def _from_file(where: str, name: str | None, said: str | None) -> Attachment:
    path = Path(where).expanduser()
    return _part(_read(path), name or path.name, said)


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            message = f"{str(path)!r} is a folder; attach its files"
            raise BadParameter(message)
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)  # a device or a pipe has no size, and may have no end
            _check_size(max(len(data), os.fstat(file.fileno()).st_size), path.name)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read {str(path)!r}: {why}"
        raise BadParameter(message) from None
    return data


def _check_size(size: int, called: str) -> None:
    if size > LARGEST:
        message = (
            f"{called} has {size:,} bytes; an attachment has at most {LARGEST:,} "
            f"({LARGEST // 1024**2} MiB)"
        )
        raise BadParameter(message)


def _elsewhere(url: str, name: str | None, said: str | None) -> Image | Blob:
    """Return what stands at an address; without a name that tells, a picture."""
    if _USER.match(url):
        message = (
            "an address with a user's name or password would be told to the model's service; "
            "download the file and attach that"
        )
        raise BadParameter(message)
    path = unquote(url.partition("#")[0].partition("?")[0])
    kind = said or _named(name or path)
    if kind is None or kind.startswith("image/"):
        return Image(kind, url=url)
    if kind.startswith("text/"):
        message = f"no service reads text at an address; download {url!r} and attach the file"
        raise BadParameter(message)
    return Blob(kind, url=url, name=name or path.rpartition("/")[2] or None)


def _said_type(url: str) -> str | None:
    return url.partition(",")[0][len("data:") :].partition(";")[0] or None


def _inlined(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma:
        raise BadParameter("a data: address has a comma before its data")
    if not head.endswith(";base64"):
        return unquote(data).encode()
    from base64 import b64decode  # noqa: PLC0415 - only for media

    try:
        return b64decode(data, validate=True)
    except ValueError as error:
        message = f"the data of a data: address is no base64: {error}"
        raise BadParameter(message) from None


def _path_in(url: str) -> str:
    host, _, path = url.partition(":")[2].removeprefix("//").partition("/")
    if host.lower() not in _LOCAL:
        message = f"{url!r} is on another machine; attach a file of this one"
        raise BadParameter(message)
    from urllib.request import url2pathname  # noqa: PLC0415 - few write a path like this

    return url2pathname(f"/{path}")


def _called(part: Image | Blob) -> str:
    """Return a medium in words, without its data."""
    kind = part.media_type or "a picture"
    if part.data is None:
        return f"{kind} at {part.url!r}"
    name = part.name if isinstance(part, Blob) and part.name else "an attachment"
    return f"{name} ({kind}, {len(part.data):,} bytes)"
