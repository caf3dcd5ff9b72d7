"""Report: what a sweep found as one HTML page that loads nothing, for a browser or a printer."""

from .page import render_report

__all__ = ["render_report"]
