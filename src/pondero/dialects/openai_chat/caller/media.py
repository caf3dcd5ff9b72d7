"""Pictures as this wire carries them: an address, or the data inside one."""

import base64
import binascii

from pondero.canon import Image, Json


def image_of(raw: Json) -> Image | None:
    """Return the picture of an ``image_url`` object, or None where it is none."""
    inner = raw.get("image_url") if isinstance(raw, dict) else None
    url = inner.get("url") if isinstance(inner, dict) else inner
    if not isinstance(url, str) or not url:
        return None
    media_type, data = data_of(url)
    return Image(media_type, data) if data is not None else Image(url=url)


def data_of(url: str) -> tuple[str | None, bytes | None]:
    """Return the media type and bytes of a data URL, or nothing of either."""
    head, comma, tail = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None, None
    try:
        return head[5:-7] or None, base64.b64decode(tail, validate=True)
    except (binascii.Error, ValueError):
        return None, None
