"""Which addresses are this wire's, and which model a request is for; gateways use it alone."""

from pondero.dialects.bodies import model_of, with_model

__all__ = ["model_of", "serves", "with_model"]


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith("/talk")
