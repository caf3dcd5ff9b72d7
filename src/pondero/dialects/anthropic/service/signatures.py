"""Signatures of the emulated service on thinking: keyed digests, verified when sent back."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256

from msgspec.json import Encoder

from pondero.canon import Json, Part, Thinking, ToolCall
from pondero.dialects.claude import Proof, SignatureKey
from pondero.dialects.dialect import Signer

from .types import NAME

_KEY = SignatureKey(b"the emulated service's own secret", b"\x08\x02\x12")  # real ones: CAIS...
_STABLE = Encoder(order="deterministic")


def make_signer(body: Mapping[str, Json], *, bound: bool, seed: bytes) -> Signer:
    """Return the signer of one answer; if ``bound``, signatures cover everything before them."""
    model = str(body["model"])
    message = f"msg_01{sha256(seed).hexdigest()[:22]}"

    def sign_part(part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        if not isinstance(part, Thinking | ToolCall):
            return None
        if part.signature is not None and part.signature.dialect == NAME:
            return part.signature.value
        if isinstance(part, ToolCall):
            return None
        kind = "redacted" if part.redacted else "thinking"
        return _KEY.sign(
            f"{kind}\0{shown}",
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


def verify_signature(kind: str, shown: str, signature: str) -> Proof | None:
    """Return the proof of a valid signature, or None."""
    return _KEY.verify(f"{kind}\0{shown}", signature)


def prefix_digest(system: Json, tools: Json, messages: Json) -> bytes:
    """Return the digest of everything before a block, without breakpoints and deferred tools."""
    known = [_plain(system), _drop_deferred(tools), [_message(message) for message in messages]]
    return blake2b(_STABLE.encode(known), digest_size=16).digest()


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
