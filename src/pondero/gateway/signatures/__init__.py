"""Keeps thinking signatures alive in clients' histories."""
