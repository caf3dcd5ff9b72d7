"""The guard: finds what a service would refuse in a recorded conversation, or lose of thinking."""

from .exchanges import Kind
from .findings import Finding, Report
from .guard import guard

__all__ = ["Finding", "Kind", "Report", "guard"]
