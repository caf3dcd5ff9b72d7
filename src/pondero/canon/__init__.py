"""What is a message, an event, a request, an answer? Values only."""

from .assembler import Assembler
from .calls import arguments_of, minted
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
from .http import Head, HttpRequest, HttpResponse, duration
from .lossless import dumped, loaded
from .messages import Message, Origin, Role
from .overlay import overlaid
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
from .secret import LEAST_LEARNED, secrets_of
from .spent import only_thought
from .target import Takes, Target
from .usage import Usage

__all__ = [
    "LEAST_LEARNED",
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
    "Takes",
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
    "arguments_of",
    "dumped",
    "duration",
    "loaded",
    "minted",
    "only_thought",
    "overlaid",
    "secrets_of",
]
