"""What is a message, an event, a request, an answer? Values only."""

from .assembler import Assembler
from .events import (
    Event,
    Finish,
    Finished,
    Note,
    PartEnd,
    PartKind,
    PartStart,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolDelta,
    UsageNow,
)
from .http import Head, HttpRequest, HttpResponse
from .messages import Message, Origin, Role
from .parts import (
    Blob,
    Cache,
    Image,
    Json,
    Other,
    Part,
    Seal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from .reply import Reply, Verdict
from .request import Output, Request, Tool, ToolChoice
from .target import Target
from .usage import Usage

__all__ = [
    "Assembler",
    "Blob",
    "Cache",
    "Event",
    "Finish",
    "Finished",
    "Head",
    "HttpRequest",
    "HttpResponse",
    "Image",
    "Json",
    "Message",
    "Note",
    "Origin",
    "Other",
    "Output",
    "Part",
    "PartEnd",
    "PartKind",
    "PartStart",
    "Reply",
    "Request",
    "Role",
    "Seal",
    "Started",
    "Target",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolDelta",
    "ToolResult",
    "Usage",
    "UsageNow",
    "Verdict",
]
