"""Looks at the size of pictures before they are sent: they are not made smaller."""

from collections.abc import Iterable, Iterator

from ...canon import Image, Message, PictureLimits, ToolResult, measure_picture
from ...errors import BadParameter
from .draft import RequestDraft


def check_pictures(draft: RequestDraft) -> RequestDraft:
    """Raise BadParameter for a picture that is too large for the service."""
    limits = draft.replay_rules.pictures
    if limits is None:
        return draft
    pictures = list(_iter_pictures(draft.find_rest()[0]))
    many = len(pictures) > limits.crowd
    for picture in pictures:
        why = _find_excess(picture, limits, many=many)
        if why:
            message = (
                f"a picture is too large for {draft.entry.id}: {why}; pictures are not made smaller"
            )
            raise BadParameter(message)
    return draft


def _iter_pictures(messages: Iterable[Message]) -> Iterator[Image]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, Image):
                yield part
            elif isinstance(part, ToolResult):
                yield from (each for each in part.content if isinstance(each, Image))


def _find_excess(picture: Image, limits: PictureLimits, *, many: bool) -> str:
    if picture.data is None:
        return ""
    letters = 4 * -(-len(picture.data) // 3)
    if letters > limits.letters:
        return f"it has {letters:,} bytes in base64, and at most {limits.letters:,} are taken"
    size = measure_picture(picture.data)
    most = limits.crowd_side if many else limits.side
    if size is None or max(size) <= most:
        return ""
    width, height = size
    beside = f" if there are more than {limits.crowd} pictures" if many else ""
    return f"it has {width} x {height} pixels, and at most {most} on a side are taken{beside}"
