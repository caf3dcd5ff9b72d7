"""What the laws must know of a wire: where it goes, and what it has no words for.

A law is never weakened for a dialect. What a wire cannot say stands in its row, the strategies
read the row, and everything else must hold to the letter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from pondero.canon import Finish, Target

Json = Any

# What a wire may have no words for. A row names those it lacks.
WORDS = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "both_samplings",  # temperature and top_p in one request
        "stop",
        "max_tokens_absent",  # the cap must be sent
        "cache",  # marks on parts, with a time to live
        "tool_cache",  # marks on tools
        "many_marks",  # more than four in one request, or for different times in any order
        "blank_texts",  # texts of white space alone
        "blanks_beside",  # such a text in an answer, beside other parts
        "several_systems",  # the system prompt is one text
        "system_message",  # a system message amid the others
        "adjacent_texts",  # two texts side by side in one message
        "adjacent_alike",  # two texts, or two thoughts, side by side in a streamed answer
        "order",  # thinking, text and calls interleaved: thinking comes first, calls last
        "several_thoughts",  # more than one thinking part in an answer
        "last_thought",  # thinking that nothing follows goes back
        "images",
        "image_urls",
        "blobs",
        "result_cache",  # marks within a tool result
        "result_images",  # a picture in a tool result
        "results_and_text",  # a user's words beside tool results in one message
        "result_errors",
        "result_names",  # a result says which tool it is of
        "call_ids",
        "redacted",
        "hidden_thinking",  # sealed thinking without text
        "strict",
        "parallel",  # whether several calls at once are wanted
        "output",
        "output_names",
        "output_beside_tools",  # a shape for the answer while tools are on offer
        "schemaless_output",
        "forced_tools",
        "named_tool",  # one tool forced by its name
        "no_tools",  # tool choice none
        "auto_choice",  # that it is left to the model is said, not left out
        "media_order",  # words and media in the order they were shown: words come first
        "extras",
    }
)


@dataclass(frozen=True, eq=False)  # known by identity, so that strategies can be kept by it
class Wire:
    """One row. ``thinking`` is what a plan adds to switch readable thinking on.

    ``model`` thinks, ``plain`` takes sampling parameters; ``finishes`` are the ends an answer
    without calls may have; ``buckets`` the counts the wire can tell apart.
    """

    service: str
    target: Target
    model: str
    plain: str
    thinking: Mapping[str, Json]
    finishes: tuple[Finish, ...]
    buckets: frozenset[str]
    lacks: frozenset[str] = frozenset()
    strict_plain: bool = True  # the plain model takes strict tools
    thinks_first: bool = False  # a thinking model's turn with calls must begin with thinking
    least_tokens: int = 1  # with the thinking above
    extras: Mapping[str, Json] = field(
        default_factory=dict
    )  # a field of the wire we have no word for
    early_end: bool = False  # an answer is complete once its finish word came, whatever follows

    def __post_init__(self) -> None:
        """Catch a word that means nothing."""
        assert self.lacks <= WORDS, self.lacks - WORDS

    def says(self, word: str) -> bool:
        """Return whether the wire has words for this."""
        assert word in WORDS, word
        return word not in self.lacks


def wire(name: str) -> Wire:
    """Return the row of a dialect."""
    return cast("Wire", import_module(f"tests.laws.wires.{name}").WIRE)
