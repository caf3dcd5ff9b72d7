"""The guard: what of a recorded conversation a service refuses, or which thinking it loses."""

from .exchanges import Kind
from .findings import Finding, Report
from .guard import guard

__all__ = ["Finding", "Kind", "Report", "guard"]
