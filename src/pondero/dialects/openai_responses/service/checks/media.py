"""Checks what a model takes besides text, and how wordy it can be."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from pondero.canon import Json

from ..errors import reject, reject_value
from ..models import Deployment, Model
from ..types import Create

_INLINE = re.compile(r"data:[^;,]*;base64,(.{16})", re.DOTALL)
# BMP, SVG, TIFF: what bytes begin with that are of another kind than the four.
_OTHER_KINDS = (b"BM", b"<svg", b"<?xml", b"II*\x00", b"MM\x00*")


def check_verbosity(create: Create, model: Model) -> None:
    """Reject a verbosity that the model does not have."""
    asked = create.text.verbosity if create.text is not None else None
    if not model.verbose and asked not in (None, "medium"):
        reject_value(asked, create.model, ("medium",), param="text.verbosity")


def check_images(items: list[Json], model: Model, deployment: Deployment) -> None:
    """Reject images on a model without vision, and images of other kinds than the four."""
    for number, part in _images(items):
        if not model.sees:
            reject("no_images", param=f"input[{number}].content")
        if deployment.bounded and _first_bytes(part).startswith(_OTHER_KINDS):
            reject("image_format", param="input")


def _first_bytes(part: dict[str, Json]) -> bytes:
    found = _INLINE.match(str(part.get("image_url") or ""))
    try:
        return b64decode(found[1], validate=True) if found else b""
    except (Error, ValueError):
        return b""


def _images(items: list[Json]) -> Iterator[tuple[int, dict[str, Json]]]:
    for number, item in enumerate(items):
        for field in ("content", "output"):
            parts = item.get(field)
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict) and part.get("type") == "input_image":
                    yield number, part
