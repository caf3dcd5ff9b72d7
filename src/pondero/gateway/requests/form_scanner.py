"""Finds fields of a multipart form while it passes, without keeping its files.

Servers differ in how they read forms that are written carelessly, so that a field could be seen by
one and not by another. What is not written as RFC 7578 says is rejected, wherever it is found.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from ...dialects import may_escape_names
from ...errors import BadParameter

LONGEST_FIELD = 512
"""Maximum bytes of a field that is read."""
LONGEST_JSON = 256 * 1024
"""Maximum bytes of a field whose value may be JSON."""
_BOM = b"\xef\xbb\xbf"
_OPENING = (b"{", b"[")  # of JSON
_HEADERS = 8 * 1024  # bytes of the headers of one part
_CHARSET = r'(?:\s*;\s*charset=(?:utf-8|"utf-8"))?'  # of Spring, before or after the boundary
_TYPE = re.compile(
    rf"multipart/form-data{_CHARSET}\s*;\s*boundary="
    r'(?:"([^"\\\r\n]{1,70})"|([A-Za-z0-9\'()+_,./:=?-]{1,70}))'
    rf"{_CHARSET}\s*",
    re.IGNORECASE,
)
# A plain word needs no quotes (RFC 2183), and .NET writes none; it writes a file's name twice.
_TEXT = rb'"((?:[^"\\\r\n]|\\[^\r\n])*)"|([A-Za-z0-9_.-]+)'
_CODED = rb"utf-8''([A-Za-z0-9!#$&+.^_`|~%-]*)"
_ONE = rb"; (?:(name|filename)=(?:%b)|(filename\*)=%b)" % (_TEXT, _CODED)
_NAME = re.compile(rb"form-data((?:%b)+)" % _ONE, re.IGNORECASE)
_PARAMETER = re.compile(_ONE, re.IGNORECASE)
_SIGNS = re.compile(rb"[^A-Za-z0-9_-]+")  # with which other servers may write such a step
_STEP = re.compile(rb"[\[\].]+")  # between the names of an object and of its field


class FormField:
    """A field that was found: its value, and where in the body that is."""

    __slots__ = ("begin", "end", "value")

    def __init__(self, value: bytes, begin: int, end: int) -> None:
        self.value: bytes = value
        self.begin: int = begin
        self.end: int = end

    @property
    def text(self) -> str:
        """Return the value as text."""
        return self.value.decode("utf-8", "replace")


class FormScanner:
    """Reads a form in pieces; ``fields`` are the watched ones that were found, in order.

    One of ``once`` is a field of the form; any other may be one of an object, images[0][file_id].
    ``objects``: the values of other fields that may be JSON, in which names can be too. With
    ``takes_files`` a file of JSON is the client's own, else it is such a field.
    """

    def __init__(
        self,
        kind: str,
        names: Iterable[str],
        *,
        once: Iterable[str] = (),
        takes_files: bool = True,
    ) -> None:
        found = _TYPE.fullmatch(kind.strip())
        if found is None:
            raise BadParameter("a form is multipart/form-data with one boundary")
        self._mark = b"--" + (found[1] or found[2]).encode("latin-1", "replace")
        self._names = frozenset(name.encode() for name in names)
        self._once = frozenset(once)
        self._takes_files = takes_files
        self._inner = frozenset(name for name in self._names if name.decode() not in self._once)
        self._folded = frozenset(map(_fold, self._inner))
        self._held = b""
        self._offset = 0  # of the held bytes, in the body
        self._step = self._begin
        self._name: str | None = None  # of the watched part that is being read
        self._begun = 0
        self._has_json: bool | None = None  # the part that is being read; None: not known yet
        self.fields: dict[str, list[FormField]] = {}
        self.objects: list[bytes] = []
        self.has_file: bool = False
        self.is_whole: bool = False
        self.is_read: bool = False
        """Whether the fields so far have been looked at, and no other may follow."""

    def feed(self, data: bytes) -> None:
        """Take a piece; raises BadParameter for a form that servers may read in several ways."""
        self._held += data
        while self._step():
            pass

    def end(self) -> None:
        """Raise BadParameter if the form has no end."""
        if not self.is_whole:
            raise BadParameter("the form is not whole")

    def find(self, name: str) -> FormField | None:
        """Return the first field of a name, once its end has arrived."""
        found = self.fields.get(name)
        return found[0] if found else None

    def _drop(self, size: int) -> None:
        self._held = self._held[size:]
        self._offset += size

    def _begin(self) -> bool:
        first = self._mark + b"\r\n"
        if len(self._held) < len(first):
            return False
        if not self._held.startswith(first):
            raise BadParameter("a form begins with its boundary")
        self._drop(len(first))
        self._step = self._read_headers
        return True

    def _read_headers(self) -> bool:
        end = self._held.find(b"\r\n\r\n")
        if end < 0 or end > _HEADERS:
            if len(self._held) > _HEADERS:
                raise BadParameter("the headers of a part of the form are too long")
            return False
        name, is_file, is_json = _read_name(self._held[:end])
        self.has_file = self.has_file or is_file
        watched = self._find_watched(name)
        self._drop(end + 4)
        self._name = watched.decode("utf-8", "replace") if watched is not None else None
        if self._name is not None and self.is_read and self._name not in self._once:
            raise BadParameter(f"the field {self._name!r} must come before the file")
        if self._name in self._once and self._name in self.fields:
            raise BadParameter(f"the form has the field {self._name!r} twice; send it once")
        self._begun = self._offset
        is_text = not is_file or (is_json and not self._takes_files)
        # Where nothing is looked for inside of objects, JSON is as good as any text.
        self._has_json = None if self._inner and is_text and self._name is None else False
        self._step = self._read_content
        return True

    def _find_watched(self, name: bytes) -> bytes | None:
        """Return the watched name that a part has; raises BadParameter for another spelling."""
        if name in self._names:
            return name
        steps = [each for each in _STEP.split(name) if each]
        found = next((each for each in steps if each in self._inner), None)
        others = b" ".join(each for each in steps if each not in self._inner)
        words = map(_fold, _SIGNS.split(unquote_to_bytes(others).replace(b"\\", b"")))
        if not self._folded.isdisjoint(words) or _simplify(name) in self._names - self._inner:
            raise BadParameter("a field of the form is a watched one in another spelling")
        return found

    def _read_content(self) -> bool:
        at = self._held.find(self._mark)
        self._look_for_json(at)
        if at < 0:
            self._check_length(len(self._held) - len(self._mark))
            if self._name is None and not self._has_json:
                # The mark and the line's end before it may be cut.
                self._drop(max(0, len(self._held) - len(self._mark) - 2))
                self._begun = self._offset
            return False
        after = self._held[at + len(self._mark) : at + len(self._mark) + 2]
        if len(after) < 2:
            return False
        # An empty part has its line's end already as that of its headers.
        if self._held[max(0, at - 2) : at] != b"\r\n" or after not in (b"\r\n", b"--"):
            raise BadParameter("the form has its boundary inside of a part")
        if self._name is not None:
            begin = self._begun - self._offset
            self._check_length(at - 2 - begin)
            field = FormField(self._held[begin : at - 2], self._begun, self._offset + at - 2)
            self.fields.setdefault(self._name, []).append(field)
        elif self._has_json:
            self._take_json(self._held[self._begun - self._offset : at - 2])
        self._drop(at + len(self._mark) + 2)
        self._name = None
        self._step = self._read_headers if after == b"\r\n" else self._finish
        return True

    def _look_for_json(self, at: int) -> None:
        """Find out from its first bytes whether a part may be JSON, which is then kept."""
        if self._has_json is not None:
            return
        begin = self._held[: at if at >= 0 else max(0, len(self._held) - len(self._mark) - 2)]
        text = begin.removeprefix(_BOM).lstrip()
        if text:
            self._has_json = text[:1] in _OPENING

    def _take_json(self, value: bytes) -> None:
        names = (b'"%b"' % each for each in self._inner)
        may_name = any(map(value.__contains__, names)) or may_escape_names(value.__contains__)
        if may_name and self.is_read:
            raise BadParameter("a field with JSON that names something must come before the file")
        if may_name:
            self.objects.append(value)

    def _check_length(self, size: int) -> None:
        if self._name is not None and size > LONGEST_FIELD:
            raise BadParameter(f"the field {self._name!r} may have {LONGEST_FIELD} bytes")
        if self._has_json and size > LONGEST_JSON:
            raise BadParameter(f"a field with JSON may have {LONGEST_JSON} bytes")

    def _finish(self) -> bool:
        self.is_whole = True
        if self._held not in (b"", b"\r", b"\r\n"):
            raise BadParameter("something follows the end of the form")
        return False


def _fold(name: bytes) -> bytes:
    """Return a name as fileId, file-id and FILE_ID are one."""
    return name.replace(b"_", b"").replace(b"-", b"").lower()


def _simplify(name: bytes) -> bytes:
    """Return a name as the most generous server reads it, such as model[], Model and 'model'."""
    plain = unquote_to_bytes(name).replace(b"\\", b"").partition(b"[")[0]
    return plain.strip(b" \t\r\n\"'").lower()


def _read_name(headers: bytes) -> tuple[bytes, bool, bool]:
    """Return the name of a part, whether it is a file, and whether it is said to be JSON.

    Raises BadParameter unless there is exactly one name.
    """
    named: list[bytes] = []
    is_file = is_json = False
    for line in headers.split(b"\r\n"):
        header, colon, value = line.partition(b":")
        if not colon or not header or header.strip() != header or b"\n" in line or b"\r" in line:
            raise BadParameter("a part of the form has headers that are not valid")
        if header.lower() == b"content-disposition":
            found = _NAME.fullmatch(value.strip())
            pairs = _PARAMETER.findall(found[1]) if found else []
            kinds = [(kind or coded).lower() for kind, _, _, coded, _ in pairs]
            is_file = b"filename" in kinds
            if len(set(kinds)) < len(kinds) or (b"filename*" in kinds and not is_file):
                raise BadParameter("a part of the form has no plain name")
            named += [
                quoted or word for kind, quoted, word, _, _ in pairs if kind.lower() == b"name"
            ]
        elif header.lower() == b"content-type":
            is_json = b"json" in value.lower()
        elif header.lower() == b"content-transfer-encoding" and value.strip().lower() not in (
            b"binary",
            b"8bit",
            b"7bit",
        ):
            raise BadParameter("a part of the form has an encoding of its own")
    if len(named) != 1:
        raise BadParameter("a part of the form has no plain name")
    return named[0], is_file, is_json
