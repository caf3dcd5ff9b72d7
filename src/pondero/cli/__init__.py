"""The command line: how it looks to somebody at a terminal."""

from .app import main

__all__ = ["main"]
