"""Splits a command line into words as the system's own shell does."""

import os
import re
import shlex

_QUOTED = re.compile(r'"([^"]*)"')


def split_command(line: str, *, windows: bool = os.name == "nt") -> list[str]:
    """Return the words of a command line; raises ValueError for an open quote.

    On Windows a backslash is a part of a path, and only double quotes keep words together.
    """
    if not windows:
        return shlex.split(line)
    if line.count('"') % 2:
        raise ValueError("No closing quotation")
    words = re.findall(r'(?:[^\s"]|"[^"]*")+', line)
    return [_QUOTED.sub(r"\1", word) for word in words]
