"""The dialects of the registry by the sides they have; a new one joins every law by being there."""

from pathlib import Path

from pondero import dialects

_FOLDER = Path(dialects.__file__).parent
CALLERS_SIDE = ("caller",)
BOTH_SIDES = ("caller", "service")


def having(sides: tuple[str, ...]) -> list[str]:
    """Return the names of the dialects that have all of these sides."""
    return [
        name
        for name in dialects.NAMES
        if all((_FOLDER / name / side / "__init__.py").exists() for side in sides)
    ]
