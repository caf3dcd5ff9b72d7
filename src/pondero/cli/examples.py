"""The examples under a command's help."""


def examples(*lines: str) -> str:
    """Return lines for a command's epilog; the mark keeps them from being wrapped."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
