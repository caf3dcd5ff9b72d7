"""The guard: finds what a service rejects in a recorded conversation, and thinking that is lost."""

from .exchanges import Kind
from .findings import GuardFinding, GuardReport
from .guard import check_file

__all__ = ["GuardFinding", "GuardReport", "Kind", "check_file"]
