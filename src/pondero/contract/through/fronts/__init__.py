"""The client APIs through which a gateway is tested."""

from .chat import ChatCompletions
from .front import (
    DESCRIPTION,
    KEY,
    MAX_TOKENS,
    NAME,
    SCHEMA,
    Answer,
    Call,
    Failure,
    Front,
    FrontError,
    FrontOptions,
)
from .gemini import GenerateContent
from .interactions import Interactions
from .messages import Messages
from .responses import Responses

FRONTS: dict[str, type[Front]] = {
    front.name: front
    for front in (Messages, Responses, ChatCompletions, GenerateContent, Interactions)
}
"""The client APIs by the name that ``--front`` takes."""

__all__ = [
    "DESCRIPTION",
    "FRONTS",
    "KEY",
    "MAX_TOKENS",
    "NAME",
    "SCHEMA",
    "Answer",
    "Call",
    "ChatCompletions",
    "Failure",
    "Front",
    "FrontError",
    "FrontOptions",
    "GenerateContent",
    "Interactions",
    "Messages",
    "Responses",
]
