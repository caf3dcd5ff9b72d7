"""Loads a program of ``examples/`` as a module."""

import importlib.util
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "examples"


def load(name: str) -> ModuleType:
    path = FOLDER / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
