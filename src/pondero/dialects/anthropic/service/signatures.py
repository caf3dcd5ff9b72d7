"""Signatures that the emulated service puts on thinking, and verifies.

Each is a keyed digest of the thinking, the model and, for some models, everything before it. A
signature that was changed, cut or made elsewhere does not verify.
"""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256

from msgspec.json import Encoder

from pondero.canon import Json, Part, Thinking, ToolCall
from pondero.dialects.dialect import Signer

from .types import NAME

_SECRET = b"the emulated service's own secret"
_MARK = b"\x08\x02\x12"  # real signatures of these days begin with CAIS
_STABLE = Encoder(order="deterministic")


def make_signer(body: Mapping[str, Json], *, bound: bool, seed: bytes) -> Signer:
    """Return the signer of one answer to this body.

    Parts that have a signature of this dialect keep it. If ``bound``, signatures cover everything
    before them.
    """
    model = str(body["model"])
    message = f"msg_01{sha256(seed).hexdigest()[:22]}"

    def sign_part(part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        if not isinstance(part, Thinking | ToolCall):
            return None
        if part.signature is not None and part.signature.dialect == NAME:
            return part.signature.value
        if isinstance(part, ToolCall):
            return None
        return _sign(
            "redacted" if part.redacted else "thinking",
            shown,
            model=model,
            thought=f"{message} {len(before)} {part.text}",
            prefix=_digest_prefix(body, before) if bound else bytes(16),
        )

    return sign_part


def _digest_prefix(body: Mapping[str, Json], before: Sequence[Json]) -> bytes:
    messages = list(body["messages"])
    if before:
        messages.append({"role": "assistant", "content": before})
    return prefix_digest(body.get("system"), body.get("tools"), messages)


def _sign(kind: str, shown: str, *, model: str, thought: str, prefix: bytes) -> str:
    name = model.encode()[:255]
    essence = blake2b(thought.encode("utf-8", "replace"), digest_size=16).digest()
    head = _MARK + bytes([len(name)]) + name + essence + prefix
    return b64encode(head + _digest(kind, shown, head)).decode()


def verify_signature(kind: str, shown: str, signature: str) -> tuple[str, bytes] | None:
    """Return the model and the prefix digest of a valid signature, or None."""
    try:
        data = b64decode(signature, validate=True)
    except (Error, ValueError):
        return None
    size = len(_MARK) + 1 + (data[3] if len(data) > 3 else 0) + 16 + 16
    head, digest = data[:size], data[size:]
    if not head.startswith(_MARK) or digest != _digest(kind, shown, head):
        return None
    return head[4:-32].decode("utf-8", "replace"), head[-16:]


def prefix_digest(system: Json, tools: Json, messages: Json) -> bytes:
    """Return the digest of everything before a block.

    Cache breakpoints do not count, nor do deferred tools, which are not in the prompt yet.
    """
    known = [_plain(system), _drop_deferred(tools), [_message(message) for message in messages]]
    return blake2b(_STABLE.encode(known), digest_size=16).digest()


def _digest(kind: str, shown: str, head: bytes) -> bytes:
    said = f"{kind}\0{shown}\0".encode("utf-8", "replace") + head
    return (
        blake2b(said, key=_SECRET, digest_size=64).digest()
        + blake2b(said, key=_SECRET, digest_size=64, person=b"second").digest()
    )


def _message(message: Json) -> Json:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return [message["role"], _plain(content)]


def _drop_deferred(tools: Json) -> Json:
    if not isinstance(tools, list):
        return tools
    return _plain([tool for tool in tools if not tool.get("defer_loading")])


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if key != "cache_control"}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
