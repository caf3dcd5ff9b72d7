"""A gateway key in words: ``keys list --gateway`` and ``serve --check`` say the same of it."""

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...gateway import GatewayKey, LevelRules


def describe_state(key: "GatewayKey") -> str:
    """Return whether a key works, and until when."""
    if key.blocked:
        return "blocked"
    if key.expires is None:
        return "active"
    end = _format_end(key.expires)
    return f"expired {end}" if has_expired(key) else f"active until {end}"


def has_expired(key: "GatewayKey") -> bool:
    """Return whether the end of a key is over."""
    return key.expires is not None and key.expires <= datetime.now(UTC)


def _format_end(end: datetime) -> str:
    """Return when a key ends; the end of a day is that day."""
    shown = end.astimezone(UTC)
    return f"{shown:%Y-%m-%d}" if shown.time() == time.max else f"{shown:%Y-%m-%d %H:%M} UTC"


def list_rights(key: "GatewayKey") -> list[str]:
    """Return what a key may do besides asking models."""
    return [name for name in ("admin", "metrics") if getattr(key, name)]


def describe_access(key: "GatewayKey") -> str:
    """Return which models a key may ask, at which levels, and how much."""
    from ...gateway import describe_quotas

    said = "everything" if key.models is None else " ".join(key.models) or "no model"
    if key.endpoints is not None:
        said += f"; other endpoints: {' '.join(key.endpoints) or 'none'}"
    if rules := describe_rules(key.thinking):
        said += f"; thinking: {rules}"
    if quotas := describe_quotas(key):
        said += f"; at most {quotas}"
    return said


def describe_rules(rules: "LevelRules") -> str:
    """Return level rules in words; empty if there are none."""
    words = {
        "always": rules.force,
        "default": rules.default,
        "at least": rules.floor,
        "at most": rules.cap,
    }
    return ", ".join(f"{name} {word}" for name, word in words.items() if word)
