"""Anthropic's Messages API, as Anthropic, Vertex, Azure and others speak it."""

NAME = "anthropic"

from . import accept, decode, encode, reply  # noqa: E402 - they read NAME

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
