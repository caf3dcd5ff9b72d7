"""The guard: finds what a service would refuse in a recorded conversation, or lose of thinking."""

from .exchanges import Kind
from .findings import GuardFinding, GuardReport
from .guard import check_file

__all__ = ["GuardFinding", "GuardReport", "Kind", "check_file"]
