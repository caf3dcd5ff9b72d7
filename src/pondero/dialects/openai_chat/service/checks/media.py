"""Checks images, sounds and files in a message."""

from .. import types
from ..input.messages import base64_in, decode_base64
from ..models import Capability, Provider

_SIGNATURES = {
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpeg": (b"\xff\xd8\xff",),
    "gif": (b"GIF87a", b"GIF89a"),
    "webp": (b"RIFF",),
}


def check_media(
    part: types.UserPart, where: str, provider: Provider, lacks: tuple[Capability, ...]
) -> None:
    """Raise Rejected if the model cannot take a part, or its data is broken."""
    reject = provider.rejecter.reject
    if isinstance(part, types.ImagePart) and "images" in lacks:
        reject("no_images", param=f"{where}.type", kind="image_url")
    if isinstance(part, types.AudioPart) and "audio" in lacks:
        reject("no_audio", param=f"{where}.type", kind="input_audio")
    if isinstance(part, types.FilePart) and provider.strict:
        id_ = part.file.file_id
        if id_ is not None and not id_.startswith("file"):
            reject("file_id", param=f"{where}.file.file_id", id=id_)
    if isinstance(part, types.FilePart) and provider.files:
        kind = (part.file.file_data or "").removeprefix("data:").partition(";")[0]
        if (part.file.file_data or "").startswith("data:") and kind not in provider.files:
            reject("file_type", param=f"{where}.file.file_data", kind=kind)
    encoded = base64_in(part)
    data = None if encoded is None else decode_base64(encoded)
    if encoded is not None and data is None:
        reject("bad_base64", param="messages")
    if isinstance(part, types.ImagePart) and data is not None:
        begins = [begin for name in provider.image_formats for begin in _SIGNATURES[name]]
        if begins and not data.startswith(tuple(begins)):
            reject("image_format", formats=list(provider.image_formats))
