"""``python -m pondero.catalog.compile`` writes the TOML files as one JSON file."""

from pathlib import Path

from .load import COMPILED, compiled

if __name__ == "__main__":
    Path(COMPILED).write_bytes(compiled())
