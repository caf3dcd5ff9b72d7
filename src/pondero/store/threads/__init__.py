"""Saved conversations in a SQLite database: threads, search and exports."""
