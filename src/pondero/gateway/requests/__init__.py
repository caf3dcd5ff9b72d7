"""One request, from bytes in to bytes out."""
