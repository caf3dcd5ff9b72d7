"""Files, URLs and bytes as parts of a question; the clients, ``ask`` and the chat call it.

The first bytes decide the media type, else the name. Nothing is fetched: a URL goes to the service
unchanged, if its wire accepts URLs.
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
from ...handoff import accepts_media, is_reachable
from ...thinking import Policy

Attachment = Text | Image | Blob
Source = str | os.PathLike[str] | bytes | Attachment

LARGEST = 32 * 1024 * 1024
"""Maximum bytes of one attachment; a service may accept fewer."""

_SCHEMES = frozenset(("http", "https", "s3", "gs"))
_LOCAL = frozenset(("", "localhost"))
_USER = re.compile(r"[^:]+://[^/?#]*@")
_CONTROLS = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_TICKS = re.compile("`{3,}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # one letter alone is a drive: C:\chart.png

# The offset of a format's magic bytes, the bytes, and its media type.
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
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks


def attachment(
    source: Source, *, name: str | None = None, media_type: str | None = None
) -> Attachment:
    r"""Return a file, a URL or bytes as a part of a question.

    ``source`` is a path, a URL, bytes, or a part. Pictures become an ``Image``; PDFs, sound, film
    and office documents a ``Blob``; text a ``Text`` under the file's name. ``name`` and
    ``media_type`` override those of the source. Raises BadParameter for a source that is missing,
    too large, or of unknown type.

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


def parse_attachments(sources: Iterable[Source] | None) -> tuple[Attachment, ...]:
    """Return the attachments of a question as parts."""
    if sources is None:
        return ()
    single = isinstance(sources, str | bytes | os.PathLike | Attachment)
    if single or not isinstance(sources, Iterable):
        kind = type(sources).__name__
        message = f"attachments is a list, not {kind}; use attachments=[...]"
        raise BadParameter(message)
    return tuple(attachment(each) for each in sources)


def attach(messages: tuple[Message, ...], attachments: Sequence[Attachment]) -> tuple[Message, ...]:
    """Put attachments before the text of the last message."""
    if not attachments:
        return messages
    *before, last = messages
    if last.role != "user":
        message = f"attachments go with a question, and the last message is of role {last.role!r}"
        raise BadParameter(message)
    return (*before, replace(last, parts=(*attachments, *last.parts)))


def check_readable(attachments: Iterable[Part], entry: ModelEntry, policy: Policy) -> None:
    """Raise Unsupported for an attachment that this model cannot read."""
    takes = make_destination(entry, policy).takes
    for part in attachments:
        if not isinstance(part, Image | Blob) or accepts_media(takes, takes.media, part):
            continue
        kinds = " ".join(map(_describe_kind, takes.media)) or "text only"
        why = f"it reads {kinds}"
        if not is_reachable(takes, part):
            why = "it does not fetch this URL; download the file and attach that"
        message = f"{entry.id} cannot read {_describe_media(part)}: {why}"
        raise Unsupported(message)


def _describe_kind(prefix: str) -> str:
    return prefix if prefix[-1:].isalnum() else f"{prefix}*"


# -- by content ------------------------------------------------------------------------------------


def _part(data: bytes, name: str | None, media_type: str | None) -> Attachment:
    label = name or "the attachment"
    if not data:
        message = f"{label} is empty"
        raise BadParameter(message)
    _check_size(len(data), label)
    kind = media_type or _type_from_bytes(data)
    named = _type_from_name(name)
    is_medium = named is not None and not named.startswith("text/")
    if kind is None and (text := decode_text(data, only_unicode=is_medium)) is not None:
        return fence_text(text, name)
    kind = kind or named
    if kind is None:
        message = (
            f"the type of {label} is unknown; a file name with a suffix such as .pdf says it, "
            "and in Python pondero.attachment(source, media_type=...)"
        )
        raise BadParameter(message)
    if kind.startswith("text/") and (text := decode_text(data)) is not None:
        return fence_text(text, name)
    return Image(kind, data) if kind.startswith("image/") else Blob(kind, data, name=name)


def _type_from_bytes(data: bytes) -> str | None:
    found = (kind for at, mark, kind in _MARKS if data[at : at + len(mark)] == mark)
    return next(found, None)


def _type_from_name(name: str | None) -> str | None:
    from mimetypes import guess_type  # noqa: PLC0415 - only for media

    return guess_type(name)[0] if name else None


def decode_text(data: bytes, *, only_unicode: bool = False) -> str | None:
    """Return bytes as text, by one rule for files and for piped input; None for other bytes.

    UTF-16 is known by its mark. What is not UTF-8 is Windows-1252, of which Latin-1 is a part,
    unless it has control characters that no text has, or ``only_unicode`` is wanted.
    """
    encodings = ("utf-16",) if data.startswith(_UTF_16) else ("utf-8-sig", "cp1252")
    if only_unicode:
        encodings = encodings[:1]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        is_text = "\0" not in text and (encoding != "cp1252" or not _CONTROLS.search(text))
        return text if is_text else None
    return None


def fence_text(text: str, name: str | None) -> Text:
    """Return a text file as a part: its name, and its text between unused fences."""
    longest = max(map(len, _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    ended = text if text.endswith("\n") else f"{text}\n"
    return Text(f"{name or 'attachment'}:\n\n{fence}\n{ended}{fence}")


# -- by source -------------------------------------------------------------------------------------


def _from_address(url: str, scheme: str, name: str | None, media_type: str | None) -> Attachment:
    if scheme == "data":
        return _part(_decode_data_url(url), name, media_type or _data_url_type(url))
    if scheme in _SCHEMES:
        return _from_url(url, name, media_type)
    if scheme == "file":
        return _from_file(_path_in(url), name, media_type)
    if url[len(scheme) :].startswith("://"):
        message = f"no service reads {url!r}; use https, or a file's path"
        raise BadParameter(message)
    return _from_file(url, name, media_type)


def _from_file(file: str, name: str | None, media_type: str | None) -> Attachment:
    path = Path(file).expanduser()
    return _part(_read(path), name or path.name, media_type)


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            message = f"{str(path)!r} is a folder; attach its files"
            raise BadParameter(message)
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)  # a device or a pipe has no size and may be endless
            _check_size(max(len(data), os.fstat(file.fileno()).st_size), path.name)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read {str(path)!r}: {why}"
        raise BadParameter(message) from None
    return data


def _check_size(size: int, label: str) -> None:
    if size > LARGEST:
        limit = f"{LARGEST:,} ({LARGEST // 1024**2} MiB)"
        message = f"{label} has {size:,} bytes; an attachment has at most {limit}"
        raise BadParameter(message)


def _from_url(url: str, name: str | None, media_type: str | None) -> Image | Blob:
    """Return a URL as a part: an image if its type is unknown."""
    if _USER.match(url):
        raise BadParameter(
            "the model's service would see the user or password in this URL; "
            "download the file and attach that"
        )
    path = unquote(url.partition("#")[0].partition("?")[0])
    kind = media_type or _type_from_name(name or path)
    if kind is None or kind.startswith("image/"):
        return Image(kind, url=url)
    if kind.startswith("text/"):
        message = f"no service reads text at a URL; download {url!r} and attach the file"
        raise BadParameter(message)
    return Blob(kind, url=url, name=name or path.rpartition("/")[2] or None)


def _data_url_type(url: str) -> str | None:
    return url.partition(",")[0][len("data:") :].partition(";")[0] or None


def _decode_data_url(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma:
        raise BadParameter("invalid data: URL; its data follow a comma")
    if not head.endswith(";base64"):
        return unquote(data).encode()
    from base64 import b64decode  # noqa: PLC0415 - only for media

    try:
        return b64decode(data, validate=True)
    except ValueError as error:
        message = f"invalid base64 in a data: URL: {error}"
        raise BadParameter(message) from None


def _path_in(url: str) -> str:
    host, _, path = url.partition(":")[2].removeprefix("//").partition("/")
    if host.lower() not in _LOCAL:
        message = f"{url!r} is on another machine; attach a file of this one"
        raise BadParameter(message)
    from urllib.request import url2pathname  # noqa: PLC0415 - few write a path like this

    return url2pathname(f"/{path}")


def _describe_media(part: Image | Blob) -> str:
    kind = part.media_type or "a picture"
    if part.data is None:
        return f"{kind} at {part.url!r}"
    name = part.name if isinstance(part, Blob) and part.name else "an attachment"
    return f"{name} ({kind}, {len(part.data):,} bytes)"
