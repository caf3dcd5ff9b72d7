"""What a request says under ``options``: typed where the server knows the name."""

from msgspec import Struct

from pondero.canon import Json

from .models import refuse

_INTEGERS = ("num_predict", "top_k", "seed", "num_ctx", "num_keep", "repeat_last_n", "num_gpu")
_NUMBERS = (
    *("temperature", "top_p", "min_p", "typical_p"),
    *("repeat_penalty", "presence_penalty", "frequency_penalty"),
)
_SAID = ("num_predict", "top_k", "temperature", "top_p", "stop")


class Options(Struct, frozen=True):
    """What canon has words for, and the rest. A cap below one means none, and is in the rest."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop: tuple[str, ...]
    rest: dict[str, Json]


def read_options(raw: dict[str, Json]) -> Options:
    """Return the options, or raise the refusal."""
    given = {name: value for name, value in raw.items() if value is not None}
    for name, value in given.items():
        if name in _INTEGERS and not _is_whole(value):
            refuse(f'option "{name}" must be of type integer')
        if name in _NUMBERS and not _is_number(value):
            refuse(f'option "{name}" must be of type float32')
    stop = given.get("stop", [])
    if not isinstance(stop, list) or not all(isinstance(each, str) for each in stop):
        refuse('option "stop" must be of type array')
    cap = int(given.get("num_predict", 0))
    rest = {name: value for name, value in raw.items() if name not in _SAID}
    if cap < 0:
        rest["num_predict"] = cap
    return Options(
        max_tokens=cap if cap > 0 else None,
        temperature=given.get("temperature"),
        top_p=given.get("top_p"),
        top_k=int(given["top_k"]) if "top_k" in given else None,
        stop=tuple(stop),
        rest=rest,
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Json) -> bool:
    return _is_number(value) and value == value // 1 and abs(value) < 2**63
