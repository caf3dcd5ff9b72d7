"""The ASGI app and its worker processes."""
