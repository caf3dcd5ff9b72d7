"""Rules and signatures of Claude models, for the services' sides of the APIs that serve them."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, NoReturn, Protocol

from ..canon import EMULATED, Json
from .prompt_cache import CacheRules


class Reject(Protocol):
    """Raises the rejection of a rule of the service's side that asks; ``facts`` fill its text."""

    def __call__(self, rule: str, /, **facts: object) -> NoReturn:
        """Raise Rejected."""


def describe_thinking(
    kind: str | None, budget: int | None, effort: str | None, *, thinks: bool, rules: CacheRules
) -> Json:
    """Return thinking and effort as they are rendered: an explicit default is no change."""
    usual = "adaptive" if thinks else "disabled"
    return [kind or usual, budget, effort or rules.default_level]


def check_type(kind: str, accepted: Sequence[str], reject: Reject) -> None:
    """Reject a type of thinking that the model does not accept."""
    if kind in accepted:
        return
    if kind == "enabled" and "adaptive" in accepted:
        reject("thinking_enabled")
    if kind == "disabled" and "between_tools" in accepted:
        reject("thinking_disabled")
    reject("thinking_type", kind=kind)


def check_budget(budget: int, max_tokens: int, reject: Reject) -> None:
    """Reject a budget that leaves no tokens for the answer."""
    if budget >= max_tokens:
        reject("budget")


def check_effort(
    effort: str, accepted: Sequence[str], reject: Reject, *, off_accepted: Sequence[str] | None
) -> None:
    """Reject an effort; ``off_accepted`` are those without thinking, None if there is no limit."""
    if not accepted:
        reject("no_effort")
    if effort not in accepted:
        reject("effort_level", effort=effort, levels=", ".join(sorted(accepted)))
    if off_accepted is not None and effort not in off_accepted:
        reject("effort_off", effort=effort, levels=", ".join(off_accepted))


def check_sampling(
    temperature: float | None, top_k: int | None, top_p: float | None, reject: Reject
) -> None:
    """Reject sampling parameters that thinking does not allow."""
    if temperature not in (None, 1):
        reject("thinking_temperature")
    if top_k is not None:
        reject("thinking_top_k")
    if top_p is not None and top_p < 0.95:
        reject("thinking_top_p")


def check_forced(kind: str | None, forced: str, reject: Reject) -> None:
    """Reject a forced tool call; ``forced`` is when the model accepts one."""
    if forced == "never":
        reject("forced")
    if kind == "enabled" and forced in ("adaptive", "thinking_off"):
        reject("forced_thinking")


class Proof(NamedTuple):
    """The model of a valid signature, and the digest of everything before it."""

    model: str
    prefix: bytes


class SignatureKey(NamedTuple):
    """Makes and verifies signatures: keyed digests that begin with ``mark``, of three bytes."""

    secret: bytes
    mark: bytes

    def sign(self, shown: str, *, model: str, thought: str, prefix: bytes) -> str:
        """Return a signature of the shown text, the thinking, the model and the prefix."""
        name = model.encode()[:255]
        essence = blake2b(thought.encode("utf-8", "replace"), digest_size=16).digest()
        head = self.opening + bytes([len(name)]) + name + essence + prefix
        return b64encode(head + self._digest(shown, head)).decode()

    def verify(self, shown: str, signature: str) -> Proof | None:
        """Return the proof of a valid signature, or None."""
        data = decode_base64(signature) or b""
        # Histories on disk have signatures from before the emulator's mark.
        for opening in (self.opening, self.mark):
            start = len(opening)
            size = start + 1 + (data[start] if len(data) > start else 0) + 16 + 16
            head, digest = data[:size], data[size:]
            if head.startswith(opening) and digest == self._digest(shown, head):
                return Proof(head[start + 1 : -32].decode("utf-8", "replace"), head[-16:])
        return None

    @property
    def opening(self) -> bytes:
        """Return the first bytes of every signature: the service's mark, and the emulator's."""
        return self.mark + b64decode(EMULATED)

    def _digest(self, shown: str, head: bytes) -> bytes:
        signed = f"{shown}\0".encode("utf-8", "replace") + head
        return (
            blake2b(signed, key=self.secret, digest_size=64).digest()
            + blake2b(signed, key=self.secret, digest_size=64, person=b"second").digest()
        )


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of a base64 text, or None if it is invalid."""
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        return None
