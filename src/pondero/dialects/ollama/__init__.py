"""Ollama's own API, /api/chat, as the local server and the cloud speak it."""

from . import accept, decode, encode, reply

NAME = "ollama"

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
