"""The types of additionalModelRequestFields: each maker of models has fields of its own."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from pondero.canon import Json


class Camel(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """No other key is permitted."""


class Snake(Struct, frozen=True, forbid_unknown_fields=True):
    """No other key is permitted."""


class Binding(Snake, frozen=True):
    """What to do with thinking that is bound to another conversation."""

    prefix_mismatch_behavior: Literal["error", "drop_block"]


class ClaudeThinking(Snake, frozen=True):
    """Whether to think, and how much."""

    type: Literal["enabled", "adaptive", "disabled", "between_tools"]
    budget_tokens: int | None = None
    display: Literal["summarized", "omitted"] | None = None
    block_binding: Binding | None = None


class ClaudeOutput(Snake, frozen=True):
    """How much effort."""

    effort: str | None = None


class ClaudeChoice(Snake, frozen=True):
    """Which tool must be called, as the Messages API says it."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class Claude(Snake, frozen=True):
    """Anthropic's Claude models; ``reasoning_config`` is another name for ``thinking``."""

    thinking: ClaudeThinking | None = None
    reasoning_config: ClaudeThinking | None = None
    output_config: ClaudeOutput | None = None
    anthropic_beta: list[str] | None = None
    tool_choice: ClaudeChoice | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None


class NovaReasoning(Camel, frozen=True):
    """Whether to think, and how much."""

    type: Literal["enabled", "disabled"]
    max_reasoning_effort: str | None = None


class NovaLimits(Camel, frozen=True):
    """Sampling, in Nova's spelling."""

    top_k: int | None = None


class Nova(Camel, frozen=True):
    """Amazon's Nova models."""

    reasoning_config: NovaReasoning | None = None
    inference_config: NovaLimits | None = None


class Flat(Snake, frozen=True):
    """A level in one field."""

    reasoning_effort: str | None = None


class FlatBeside(Flat, frozen=True):
    """The same; Claude's ``thinking`` is taken and ignored."""

    thinking: Json = None


class Effort(Snake, frozen=True):
    """A level."""

    effort: str | None = None


class NestedEffort(Snake, frozen=True):
    """A level in an object."""

    reasoning: Effort | None = None


class Qwen(Snake, frozen=True):
    """Qwen: a level instead of an object."""

    reasoning_config: str | None = None


class Nothing(Snake, frozen=True):
    """A model without fields of its own."""


Own = Claude | Nova | Flat | NestedEffort | Qwen | Nothing
OWN: dict[str, type[Own]] = {
    "claude": Claude,
    "nova": Nova,
    "flat": Flat,
    "flat_beside": FlatBeside,
    "nested": NestedEffort,
    "qwen": Qwen,
    "none": Nothing,
}
SHAPES: tuple[type[Own], ...] = (Claude, Nova, Flat, NestedEffort, Qwen)
"""Every spelling, for requests whose model is not known."""
