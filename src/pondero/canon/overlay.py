"""One JSON object laid over another."""

from collections.abc import Mapping

from .parts import Json


def overlaid(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    """Return both, object by object, the upper one winning; neither is changed."""
    both = dict(below)
    for key, value in above.items():
        under = both.get(key)
        both[key] = (
            overlaid(under, value)
            if isinstance(under, Mapping) and isinstance(value, Mapping)
            else value
        )
    return both
