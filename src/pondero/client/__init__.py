"""What the user of the library sees."""

from .dial import levels, lookup, models, plan

__all__ = ["levels", "lookup", "models", "plan"]
