"""The dialects of the registry that are there; a new one joins every law and check by being there."""

from pathlib import Path

from pondero import dialects

_FOLDER = Path(dialects.__file__).parent
CALLERS_SIDE = ("encode", "decode")
BOTH_SIDES = (*CALLERS_SIDE, "wire", "accept", "reply")


def having(files: tuple[str, ...]) -> list[str]:
    """Return the names of the dialects that have all of these files."""
    return [
        name
        for name in dialects.NAMES
        if all((_FOLDER / name / f"{file}.py").exists() for file in files)
    ]
