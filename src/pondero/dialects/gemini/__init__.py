"""Gemini's generateContent, as the Gemini API, Vertex and Cloud Code Assist speak it."""

from . import accept, decode, encode, reply

NAME = "gemini"

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
