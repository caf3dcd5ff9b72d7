"""What of a conversation sent back is refused, or loses what was thought, and where."""

from .guard import guard
from .report import Finding, Kind, Report

__all__ = ["Finding", "Kind", "Report", "guard"]
