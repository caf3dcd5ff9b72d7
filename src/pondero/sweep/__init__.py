"""Sweep: which level is enough for this work, measured on the user's own questions."""
