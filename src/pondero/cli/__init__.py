"""The command line. ``main`` is the program ``pondero``."""

from .app import main

__all__ = ["main"]
