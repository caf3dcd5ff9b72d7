"""``[[hook]]``: the operator's own code, its settings, and the requests it is for."""

import re

from msgspec.structs import replace

from .examples import EXAMPLES
from .model import HookConfig
from .rows import ConfigRows

_NAME = re.compile(r"[A-Za-z0-9._:-]{1,64}")  # it is written into a header


def read_hooks(rows: ConfigRows) -> tuple[HookConfig, ...]:
    """Return all hooks in order; raises BadConfig. The start of the gateway makes them."""
    found: list[HookConfig] = []
    for place, row in rows.rows("hook"):
        hook = rows.build(row, HookConfig, place)
        hook = replace(hook, name=hook.name or hook.use)
        at = (*place, "name" if "name" in row else "use")
        if not _NAME.fullmatch(hook.name):
            cure = f"write {EXAMPLES['name']}: letters, digits and - _ . :, at most 64"
            raise rows.error(at, f"invalid name {hook.name[:80]!r}", cure)
        if any(hook.name == earlier.name for earlier in found):
            problem = f"an earlier hook is called {hook.name!r} too"
            raise rows.error(at, problem, f"write {EXAMPLES['name']}, another name")
        found.append(hook)
    return tuple(found)
