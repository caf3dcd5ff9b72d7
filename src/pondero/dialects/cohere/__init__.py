"""Cohere's v2 chat."""

from . import accept, decode, encode, reply

NAME = "cohere"

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
