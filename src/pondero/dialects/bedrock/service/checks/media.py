"""Images, documents and videos: where they may stand, what they are called, who fetches them."""

from collections.abc import Iterator

from msgspec.json import decode

from pondero.canon import Json

from .. import types
from ..errors import reject
from ..models import Family
from .conversation import PlacedBlock, Turn

_MEDIA = ("image", "document", "video")
_BINARY = frozenset({"pdf", "doc", "docx", "xls", "xlsx"})
_Medium = types.ImageBlock | types.DocumentBlock | types.VideoBlock | types.AudioBlock


def check_media(known: list[Turn], row: Family) -> None:
    """Reject media that the model does not take as they are."""
    blocks = [placed for turn in known for placed in turn.blocks]
    names = [each.fields.name for each in blocks if isinstance(each.fields, types.DocumentBlock)]
    if len(set(names)) < len(names):
        reject("document_names")
    if row.control == "any" and row.match and row.match[0].startswith("arn:"):
        return  # any model
    for placed in blocks:
        if isinstance(placed.fields, types.ImageBlock) and not row.images:
            reject("no_images")
        if isinstance(placed.fields, types.ToolResultBlock):
            _check_result(placed, placed.fields, row)
        elif isinstance(placed.fields, _Medium) and placed.fields.source.s3_location and not row.s3:
            reject("s3")
        if isinstance(placed.fields, types.DocumentBlock) and not row.citations:
            given = placed.fields.citations
            if isinstance(given, dict) and given.get("enabled"):
                reject("citations")
    if row.results_alone:
        for turn in known:
            kinds = {placed.kind for placed in turn.blocks}
            if "toolResult" in kinds and len(kinds) > 1:
                reject("result_beside", at=turn.at)


def _check_result(placed: PlacedBlock, result: types.ToolResultBlock, row: Family) -> None:
    if result.status is not None and not row.result_status:
        reject("unsupported_field", field="status")
    for kind, fields in _iter_media(result):
        if row.control == "claude" and result.status == "error":
            reject("error_media", message=placed.message, number=placed.number)
        source = fields.get("source")
        if isinstance(source, dict) and "s3Location" in source and not row.s3:
            reject("s3")
        if row.control == "nova" and kind == "document" and fields.get("format") in _BINARY:
            reject("nova_result", message=placed.message, number=placed.number)
        if row.result_media is not None and kind not in row.result_media:
            reject("result_media", kind=kind)


def _iter_media(result: types.ToolResultBlock) -> Iterator[tuple[str, Json]]:
    for union in result.content:
        for kind, raw in union.items():
            fields = decode(raw)
            if kind in _MEDIA and isinstance(fields, dict):
                yield kind, fields
