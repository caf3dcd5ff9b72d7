"""Rules and signatures of Claude models, for the services' sides of the APIs that serve them."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from .dialect import Rejected

Reject = Callable[[str], Rejected]

LOOP_START = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
    "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
    "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
)


def check_type(kind: str, accepted: Sequence[str], reject: Reject) -> None:
    """Reject a type of thinking that the model does not accept."""
    if kind in accepted:
        return
    # Anthropic, thinking types (vendor page, 2026-11-15; AAClause/nvda-OpenAI#126, llmgateway#2778)
    message = f'"thinking.type.{kind}" is not supported for this model.'
    if kind == "enabled" and "adaptive" in accepted:
        message += (
            ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    elif kind == "disabled" and "between_tools" in accepted:
        message += ' Use "thinking.type.between_tools" instead.'
    raise reject(message)


def check_budget(budget: int, max_tokens: int, reject: Reject) -> None:
    """Reject a budget that leaves no tokens for the answer."""
    if budget >= max_tokens:
        # Anthropic, budget < max_tokens (router-for-me/CLIProxyAPI#413, litellm#39627, 2026-11-15)
        raise reject(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            "documentation at https://docs.claude.com/en/docs/build-with-claude/"
            "extended-thinking#max-tokens-and-context-window-size"
        )


def check_effort(
    effort: str, accepted: Sequence[str], reject: Reject, *, off_accepted: Sequence[str] | None
) -> None:
    """Reject an effort; ``off_accepted`` are those without thinking, None if there is no limit."""
    if not accepted:
        # Anthropic, effort: not on Haiku 4.5 and older (text of public clients, 2026-11-16)
        raise reject("This model does not support the effort parameter.")
    if effort not in accepted:
        # Anthropic, effort: levels by model (recording pydantic-ai
        # test_anthropic_explicit_effort_xhigh_unsupported_model_errors, 2026-08-22)
        levels = ", ".join(sorted(accepted))
        raise reject(
            f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        )
    if off_accepted is not None and effort not in off_accepted:
        # Anthropic, thinking: off only up to effort high (vendor page, 2026-11-15; text is ours)
        raise reject(
            f"output_config.effort: '{effort}' is not supported while thinking is off; use one of "
            f"{', '.join(off_accepted)}"
        )


def check_sampling(
    temperature: float | None, top_k: int | None, top_p: float | None, reject: Reject
) -> None:
    """Reject sampling parameters that thinking does not allow."""
    # Anthropic, sampling; all three (clients; quarkiverse/quarkus-langchain4j#1812, 2025-09-25)
    if temperature not in (None, 1):
        raise reject(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        )
    if top_k is not None:
        raise reject("`top_k` must be unset when thinking is enabled.")
    if top_p is not None and top_p < 0.95:
        raise reject(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
        )


def check_forced(kind: str | None, forced: str, reject: Reject) -> None:
    """Reject a forced tool call; ``forced`` is when the model accepts one."""
    # Anthropic, tool_choice; both (pydantic-ai 2.66.0 live; text of public clients, 2026-11-15)
    if forced == "never":
        raise reject("`tool_choice` values that force tool use are not supported for this model.")
    if kind == "enabled" and forced in ("adaptive", "thinking_off"):
        raise reject("Thinking may not be enabled when tool_choice forces tool use.")


def describe_binding(at: str, field: str) -> str:
    """Return the message for a block that is bound to another conversation."""
    return (
        f"{at}: Invalid {field} block. The block is bound to a different conversation. Remove the "
        'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )


class Proof(NamedTuple):
    """The model of a valid signature, and the digest of everything before it."""

    model: str
    prefix: bytes


class SignatureKey(NamedTuple):
    """Makes and verifies signatures: keyed digests that begin with ``mark``."""

    secret: bytes
    mark: bytes

    def sign(self, shown: str, *, model: str, thought: str, prefix: bytes) -> str:
        """Return a signature of the shown text, the thinking, the model and the prefix."""
        name = model.encode()[:255]
        essence = blake2b(thought.encode("utf-8", "replace"), digest_size=16).digest()
        head = self.mark + bytes([len(name)]) + name + essence + prefix
        return b64encode(head + self._digest(shown, head)).decode()

    def verify(self, shown: str, signature: str) -> Proof | None:
        """Return the proof of a valid signature, or None."""
        data = decode_base64(signature) or b""
        size = len(self.mark) + 1 + (data[3] if len(data) > 3 else 0) + 16 + 16
        head, digest = data[:size], data[size:]
        if not head.startswith(self.mark) or digest != self._digest(shown, head):
            return None
        return Proof(head[4:-32].decode("utf-8", "replace"), head[-16:])

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
