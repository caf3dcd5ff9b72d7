"""One request from bytes in to bytes out; ``pipeline`` has its steps in order."""
