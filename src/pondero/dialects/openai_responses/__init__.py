"""The Responses wire: items in, items out, thinking as sealed items between them."""

from . import accept, decode, encode, reply

NAME = "openai_responses"

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
