"""What next: prepare, send, read, wait, give up? Decisions without a socket or a clock."""

from .prepare import plan

__all__ = ["plan"]
