"""Every dialect by its name."""

from . import anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses
from .dialect import Dialect

_DIALECTS: dict[str, Dialect] = {
    each.DIALECT.name: each.DIALECT
    for each in (anthropic, openai_responses, openai_chat, gemini, cohere, ollama, bedrock)
}

NAMES = tuple(_DIALECTS)
COMMON = openai_chat.DIALECT.name
"""The wire that a program most likely speaks where nothing says which."""


def get_dialect(name: str) -> Dialect:
    """Return a dialect by name; its sides are loaded when they are first asked for."""
    return _DIALECTS[name]
