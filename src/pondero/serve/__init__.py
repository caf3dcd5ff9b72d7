"""How do bytes reach a server? HTTP as values to and from ASGI."""

from .asgi import Application, application

__all__ = ["Application", "application"]
