"""The client APIs through which a gateway is tested."""

from .chat import Chat
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
    Options,
)
from .gemini import Gemini
from .messages import Messages
from .responses import Responses

FRONTS: dict[str, type[Front]] = {
    front.name: front for front in (Messages, Responses, Chat, Gemini)
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
    "Chat",
    "Failure",
    "Front",
    "FrontError",
    "Gemini",
    "Messages",
    "Options",
    "Responses",
]
