"""Makes the hooks of a configuration, by the name of an entry point or by an import path.

Python imports a module once: a reload of the configuration makes hooks of the code that is there.
"""

import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ...errors import BadConfig
from ..config.model import GatewayConfig, HookConfig
from ..config.reader import locate
from .bounded_call import BoundedHook
from .interface import Hook

GROUP = "pondero.gateway"
"""The group of entry points in which packages offer hooks."""
_loaded: dict[str, int] = {}  # when the file of each module with a hook had been written


def load_hooks(config: GatewayConfig) -> tuple[BoundedHook, ...]:
    """Return the hooks in order; raises BadConfig with file, line and cure."""
    return tuple(_load(config, number, each) for number, each in enumerate(config.hooks))


def check_hooks(config: GatewayConfig) -> None:
    """Raise BadConfig if a hook cannot be made."""
    for hook in load_hooks(config):
        hook.close()


def describe_changed_code(config: GatewayConfig) -> str | None:
    """Return which hooks have other code on disk than in this process; None if none has.

    They are those of a configuration that was checked.
    """
    modules = [(hook.name, _find(hook.use).__module__) for hook in config.hooks]
    names = [name for name, module in modules if _find_time(module) != _loaded.get(module)]
    if not names:
        return None
    return f"the code of {', '.join(names)} changed, and needs a restart"


def _find_time(module: str) -> int:
    """Return when the file of a module was written; 0 if it has none."""
    try:
        return Path(sys.modules[module].__file__ or "").stat().st_mtime_ns
    except (KeyError, AttributeError, OSError):
        return 0


def _load(config: GatewayConfig, number: int, hook: HookConfig) -> BoundedHook:
    where = locate(config, "hook", number, "use")
    try:
        made = _find(hook.use)
    except (ImportError, AttributeError) as error:
        message = f"{where}no hook {hook.use!r}: {_describe_absence(hook.use, error)}"
        raise BadConfig(message) from None
    if not (isinstance(made, type) and issubclass(made, Hook)):
        message = f"{where}{hook.use!r} is no class derived from pondero.gateway.Hook"
        raise BadConfig(message)
    _loaded.setdefault(made.__module__, _find_time(made.__module__))
    try:
        return BoundedHook(hook, made(hook.settings))
    except Exception as error:
        place = locate(config, "hook", number, "settings" if hook.settings else "use")
        # The text of another kind may be a bare name, such as the key that a dict lacks.
        cause = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        message = f"{place}the hook {hook.name!r} cannot be made: {cause}"
        raise BadConfig(message) from error


def _describe_absence(use: str, error: ImportError | AttributeError) -> str:
    """Return why nothing is found under a name or an import path, and what helps."""
    module, colon, _ = use.partition(":")
    if not colon:
        offered = " ".join(sorted(each.name for each in entry_points(group=GROUP)))
        known = f"installed are: {offered}" if offered else "none is installed by name"
        return f"{error}; use package.module:Class, or a name: {known}"
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is None or not f"{module}.".startswith(f"{missing}."):
        return str(error)
    return (
        f"Python does not find {missing!r}; start the gateway with PYTHONPATH=FOLDER, the folder "
        "that it is in, or install it as a package"
    )


def _find(use: str) -> Any:
    """Return what an entry point or an import path names; raises ImportError, AttributeError."""
    module, colon, name = use.partition(":")
    if colon:
        found = import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
        return found
    for each in entry_points(group=GROUP, name=use):
        return each.load()
    message = "no installed package offers it"
    raise ImportError(message)
