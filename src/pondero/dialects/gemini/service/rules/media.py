"""The rules of media: their kinds, and the addresses of files."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ..models import table
from ..types import FileData, Part
from .facts import RequestFacts

_FILE = re.compile(r"https://generativelanguage\.googleapis\.com/(?:\w+/)*files/(?P<id>[\w-]+)")
_YOUTUBE = re.compile(r"https://(?:(?:www|m)\.)?(?:youtube\.com/|youtu\.be/)")


def check(asked: RequestFacts) -> None:
    """Reject media that the service or the model does not take, and files that it cannot find."""
    for part in _parts(asked):
        if part.inline_data is not None:
            _check_kind(part.inline_data.mime_type, asked)
        if part.file_data is not None:
            _check_file(part.file_data, asked)


def _parts(asked: RequestFacts) -> Iterator[Part]:
    for content in asked.request.contents:
        yield from content.parts


def _check_file(file: FileData, asked: RequestFacts) -> None:
    uri = file.file_uri
    kind = "video/*" if _YOUTUBE.match(uri) else file.mime_type
    if kind:
        _check_kind(kind, asked)
    own = _FILE.fullmatch(uri)
    if not any(re.match(form, uri) for form in asked.surface.files):
        asked.reject("file_uri", uri=uri)
    if own and asked.surface.lacks(own["id"]):
        asked.reject("no_file", id=own["id"])
    elsewhere = not own and not _YOUTUBE.match(uri)
    if elsewhere and asked.surface.fetches_by_model and not asked.model.fetches:
        asked.reject("file_uri", uri=uri)


def _check_kind(kind: str, asked: RequestFacts) -> None:
    media = table().media
    known = any(fnmatchcase(kind, each) for each in media.kinds)
    if not known or kind in media.unknown:
        asked.reject("media_kind", kind=kind)
    family = kind.partition("/")[0]
    if family in media.families and family not in asked.model.takes:
        asked.reject_for_model("modality", family=family.capitalize())
