"""Signatures of the emulated service on Claude's thinking: keyed digests, which it verifies."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import blake2b

from msgspec.json import Encoder

from pondero.canon import Json, Part, Thinking
from pondero.dialects.claude import Proof, SignatureKey, decode_base64
from pondero.dialects.dialect import Signer

from .types import NAME

KEY = SignatureKey(b"the emulated house's own secret", b"\x12\x93\x02")  # real ones: EpMC...
_STABLE = Encoder(order="deterministic")
UNBOUND = bytes(16)


def make_signer(model: str, bound_to: Json | None) -> Signer:
    """Return the signer of one answer; ``bound_to`` is the body that signatures cover, if any."""

    def sign_part(part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        if not isinstance(part, Thinking):
            return None
        if part.signature is not None and part.signature.dialect == NAME:
            return part.signature.value
        start = UNBOUND if bound_to is None else _digest_prefix(bound_to, before)
        made = KEY.sign(shown, model=model, thought=f"{len(before)} {part.text}", prefix=start)
        return make_redacted(made) if part.redacted else made

    return sign_part


def _digest_prefix(body: Json, before: Sequence[Json]) -> bytes:
    messages = list(body["messages"])
    if before:
        messages.append({"role": "assistant", "content": list(before)})
    return prefix_digest(body.get("system"), (body.get("toolConfig") or {}).get("tools"), messages)


def make_redacted(signature: str) -> str:
    """Return redacted content: the signature, which is base64, in base64 once more."""
    return b64encode(signature.encode()).decode()


def verify_redacted(content: str) -> Proof | None:
    """Return the proof of valid redacted content, or None."""
    return KEY.verify("", (decode_base64(content) or b"").decode("ascii", "replace"))


def prefix_digest(system: Json, tools: Json, messages: Json) -> bytes:
    """Return the digest of everything before a block; cache points do not count."""
    turns = [[message["role"], _plain(message["content"])] for message in messages]
    known = [_plain(system), _plain(tools), turns]
    return blake2b(_STABLE.encode(known), digest_size=16).digest()


def _plain(value: Json) -> Json:
    if isinstance(value, list):
        return [_plain(each) for each in value if not _is_point(each)]
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value


def _is_point(value: Json) -> bool:
    return isinstance(value, dict) and "cachePoint" in value
