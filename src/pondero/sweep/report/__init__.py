"""Report: what a sweep found as one HTML page that needs nothing else, for a browser or a printer.

``render_report`` is the whole of it. The page loads nothing: its style and its script are inside,
and its own policy lets the browser run that script and no other.
"""

from .page import render_report

__all__ = ["render_report"]
