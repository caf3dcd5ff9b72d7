"""Signatures that the emulated service puts on Claude's thinking, and verifies.

Each is a keyed digest of the shown text, the thinking, the model, and for some models everything
before it. A signature that was changed, cut or made elsewhere does not verify.
"""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec.json import Encoder

from pondero.canon import Json, Part, Thinking
from pondero.dialects.dialect import Signer

from .types import NAME

_SECRET = b"the emulated house's own secret"
_MARK = b"\x12\x93\x02"  # real ones begin with EpMC
_STABLE = Encoder(order="deterministic")
UNBOUND = bytes(16)


class Proof(NamedTuple):
    """The model of a valid signature, and the digest of everything before it."""

    model: str
    prefix: bytes


def make_signer(model: str, bound_to: Json | None) -> Signer:
    """Return the signer of one answer; ``bound_to`` is the body that signatures cover, if any."""

    def sign_part(part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        if not isinstance(part, Thinking):
            return None
        if part.signature is not None and part.signature.dialect == NAME:
            return part.signature.value
        start = UNBOUND if bound_to is None else _digest_prefix(bound_to, before)
        made = sign(shown, model=model, thought=f"{len(before)} {part.text}", prefix=start)
        return make_redacted(made) if part.redacted else made

    return sign_part


def _digest_prefix(body: Json, before: Sequence[Json]) -> bytes:
    messages = list(body["messages"])
    if before:
        messages.append({"role": "assistant", "content": list(before)})
    return prefix_digest(body.get("system"), (body.get("toolConfig") or {}).get("tools"), messages)


def sign(shown: str, *, model: str, thought: str, prefix: bytes) -> str:
    """Return a signature of the shown text, the thinking and the digest of the prefix."""
    name = model.encode()[:255]
    essence = blake2b(thought.encode("utf-8", "replace"), digest_size=16).digest()
    head = _MARK + bytes([len(name)]) + name + essence + prefix
    return b64encode(head + _digest(shown, head)).decode()


def verify_signature(shown: str, signature: str) -> Proof | None:
    """Return the proof of a valid signature, or None."""
    data = _bytes(signature)
    size = len(_MARK) + 1 + (data[3] if len(data) > 3 else 0) + 16 + 16
    head, digest = data[:size], data[size:]
    if not head.startswith(_MARK) or digest != _digest(shown, head):
        return None
    return Proof(head[4:-32].decode("utf-8", "replace"), head[-16:])


def make_redacted(signature: str) -> str:
    """Return redacted content: the signature, which is base64, in base64 once more."""
    return b64encode(signature.encode()).decode()


def verify_redacted(content: str) -> Proof | None:
    """Return the proof of valid redacted content, or None."""
    return verify_signature("", _bytes(content).decode("ascii", "replace"))


def prefix_digest(system: Json, tools: Json, messages: Json) -> bytes:
    """Return the digest of everything before a block; cache points do not count."""
    turns = [[message["role"], _plain(message["content"])] for message in messages]
    known = [_plain(system), _plain(tools), turns]
    return blake2b(_STABLE.encode(known), digest_size=16).digest()


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        return b""


def _digest(shown: str, head: bytes) -> bytes:
    said = f"{shown}\0".encode("utf-8", "replace") + head
    return (
        blake2b(said, key=_SECRET, digest_size=64).digest()
        + blake2b(said, key=_SECRET, digest_size=64, person=b"second").digest()
    )


def _plain(value: Json) -> Json:
    if isinstance(value, list):
        return [_plain(each) for each in value if not _is_point(each)]
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value


def _is_point(value: Json) -> bool:
    return isinstance(value, dict) and "cachePoint" in value
