"""Compares what was planned with what arrived."""


def within(fields, body):
    """Whether everything in ``fields`` is in ``body``; what else is there does not matter.

    A field may be written with underscores: protobuf's JSON takes a name in both spellings.
    """
    if not isinstance(fields, dict):
        return fields == body
    if not isinstance(body, dict):
        return False
    plain = {_plain(name): each for name, each in body.items()}
    return all(within(each, plain.get(_plain(name))) for name, each in fields.items())


def _plain(name):
    return name.replace("_", "").lower()
