"""Tables of the services' sides: those that several share, and those that each ships as TOML."""

import tomllib
from importlib.resources import files
from typing import TypeVar

from ..canon import convert_json

T = TypeVar("T")

DEPTH_NAMES = (
    # OpenAI and most others; Fireworks also takes a bool or a number there (2026-11-15)
    ("reasoning_effort",),
    ("effort",),
    # OpenRouter, Together, SGLang (openrouter 1.3.84 types, 2026-11-15)
    ("reasoning", "effort"),
    ("reasoning", "max_tokens"),
    ("reasoning", "enabled"),
    ("include_reasoning",),
    # DeepSeek, Z.ai, Moonshot, MiniMax, Fireworks, Anthropic's compatible API (2026-11-15)
    ("thinking", "type"),
    ("thinking", "budget_tokens"),
    ("thinking", "effort"),
    ("output_config", "effort"),
    # DashScope, vLLM, llama.cpp, NVIDIA, Cerebras (their own pages and sources, 2026-11-15)
    ("enable_thinking",),
    ("thinking_budget",),
    ("thinking_token_budget",),
    ("thinking_budget_tokens",),
    ("reasoning_budget",),
    ("reasoning_budget_tokens",),
    ("disable_reasoning",),
)
"""Where servers of any maker read depth from the top of a body, whatever API it is written in."""
ASKING_TOOLS = frozenset(
    {"advisor", *(f"openrouter:{n}" for n in ("advisor", "fusion", "subagent"))}
)
"""Types of tools that ask further models: Anthropic's, and OpenRouter's (its list of server tools,
2026-11-16)."""
OPENROUTER_MIXES = ("@preset/", "openrouter/fusion")
"""In names at OpenRouter that stand for several models, or for settings that name some."""
QUIET_PLUGINS = frozenset(
    {"web", "file-parser", "response-healing", "context-compression", "moderation"}
)
"""OpenRouter's plugins that ask no further model (its docs, plugins, 2026-11-16)."""


def load_table(package: str, name: str, kind: type[T]) -> T:
    """Load a TOML file of a package as a type; raises ValidationError if a value does not fit."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return convert_json(tomllib.loads(text), kind)
