"""``python -m pondero.catalog.compile`` writes the TOML files as one JSON file."""

from .load import COMPILED, compiled

if __name__ == "__main__":
    COMPILED.write_bytes(compiled())
