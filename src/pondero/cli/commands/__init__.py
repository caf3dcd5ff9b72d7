"""The verbs of daily use, one file each."""
