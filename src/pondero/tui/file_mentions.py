"""Files that are named in the input line: completed, attached, and dropped onto the terminal."""

import re
import shlex
from pathlib import Path

from ..canon import Blob, Image, Text
from ..client import attachment

_NAMED = re.compile(r"(?<!\S)@(\"[^\"]+\"|\S+)")
_LAST = re.compile(r"(?<!\S)@\"?([^\"]*)$")
_COMMAND = "/attach "
_MOST = 50
_LONGEST = 4096
_STOPS = ".,;:!?)"


def find_mentions(words: str) -> tuple[Path, ...]:
    """Return the files that words name as ``@path``; what is no file there is just words."""
    found = (match[1].strip('"') for match in _NAMED.finditer(words))
    paths = (_find_file(name) or _find_file(name.rstrip(_STOPS)) for name in found)
    return tuple(dict.fromkeys(path for path in paths if path is not None))


def find_dropped(pasted: str) -> tuple[Path, ...]:
    """Return pasted paths, as of dropped files; all of the text must be whole paths."""
    if len(pasted) > _LONGEST or not pasted.strip():
        return ()
    try:
        words = shlex.split(pasted.strip())
    except ValueError:
        return ()
    paths = [_find_file(_strip_file_url(word)) for word in words if _is_whole(word)]
    files = [path for path in paths if path is not None]
    return tuple(files) if len(files) == len(words) else ()


def completions(text: str) -> tuple[str, ...]:
    """Return the whole lines that complete a path after ``@`` or ``/attach`` at the end of this."""
    if text.startswith(_COMMAND) and "\n" not in text:
        begun, beginning = _COMMAND, text.removeprefix(_COMMAND)
        return tuple(f"{begun}{path}" for path in _paths(beginning) if path != beginning)
    if (found := _LAST.search(text)) is None or "\n" in found[1]:
        return ()
    before = text[: found.start()]
    return tuple(f"{before}@{_quote(path)}" for path in _paths(found[1]) if path != found[1])


def read_mention(path: Path) -> Text | Image | Blob:
    """Return a file as a part of a question; raises BadParameter."""
    return attachment(path)


def _find_file(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        return path if name and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte, an unknown user
        return None


def _is_whole(word: str) -> bool:
    return word.startswith(("/", "~/", "file://")) or bool(re.match(r"[A-Za-z]:\\", word))


def _strip_file_url(word: str) -> str:
    from urllib.parse import unquote  # noqa: PLC0415 - only for what was dropped

    if not word.startswith("file://"):
        return word
    return unquote(word.removeprefix("file://").removeprefix("localhost"))


def _paths(beginning: str) -> list[str]:
    folder, slash, start = beginning.rpartition("/")
    try:
        place = Path(folder + slash or ".").expanduser()
        names = sorted(place.iterdir(), key=lambda path: (path.name.startswith("."), path.name))
        wanted = [path for path in names if path.name.startswith(start)][:_MOST]
        shown = [path for path in wanted if start or not path.name.startswith(".")]
        return [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in shown]
    except (OSError, ValueError, RuntimeError):
        return []


def _quote(path: str) -> str:
    if " " not in path:
        return path
    return f'"{path}' if path.endswith("/") else f'"{path}"'
