"""One run on disk, and the loop that fills it."""
