"""Chat Completions: the wire of OpenAI and of everybody who copied it; clones differ by quirks."""

NAME = "openai_chat"

from . import accept, decode, encode, reply  # noqa: E402 - they read NAME

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
