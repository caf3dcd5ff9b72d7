"""Amazon Bedrock's Converse and ConverseStream, as every maker's models speak it there."""

NAME = "bedrock"

from . import accept, decode, encode, reply  # noqa: E402 - they read NAME

__all__ = ["NAME", "accept", "decode", "encode", "reply"]
