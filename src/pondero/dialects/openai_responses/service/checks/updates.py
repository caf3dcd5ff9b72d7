"""Checks items that change the conversation: configuration_update and compaction_trigger."""

from pondero.canon import Json

from ..errors import reject, reject_invalid
from ..input.validation import read
from ..models import Deployment, Model
from ..types import HOSTED, ITEMS, ConfigurationUpdate, Create
from .schemas import check_format

_UPDATE = "configuration_update"


def check_known(items: list[Json], deployment: Deployment) -> None:
    """Reject updates at a service that does not know them."""
    if not deployment.updates:
        for number in _find(items, _UPDATE):
            known = sorted({*ITEMS, *HOSTED} - {_UPDATE})
            reject_invalid(_UPDATE, known, param=f"input[{number}].type")


def check_updates(
    create: Create, items: list[Json], model: Model, deployment: Deployment
) -> dict[str, str]:
    """Check all updates; return the efforts that they set, by their paths."""
    efforts: dict[str, str] = {}
    for number in _find(items, _UPDATE):
        at = f"input[{number}]"
        update = read(items[number], ConfigurationUpdate, at=at)
        if update.reasoning is None and update.text is None:
            reject("update_empty", param=at)
        _check_place(create, items, number)
        if not model.updates or create.model.rpartition("/")[2] in deployment.no_updates:
            reject("update_model", param=f"{at}.type")
        if create.reasoning is not None and create.reasoning.mode == "pro":
            reject("update_pro", param=f"{at}.type")
        if update.reasoning is not None and update.reasoning.effort is not None:
            efforts[f"{at}.reasoning.effort"] = update.reasoning.effort
        if update.text is not None:
            check_format(update.text.format, f"{at}.text.format")
    for number in _find(items, "compaction_trigger"):
        if number != len(items) - 1:
            reject("trigger_last", param=f"input[{number}]")
    return efforts


def _check_place(create: Create, items: list[Json], number: int) -> None:
    at = f"input[{number}]"
    if number and items[number - 1].get("type") == _UPDATE:
        reject("update_adjacent", param=at)
    if create.truncation == "auto":
        reject("update_truncation", param=f"{at}.type", field="truncation")
    if create.context_management:
        reject("update_truncation", param=f"{at}.type", field="context_management")
    later = [str(item.get("type")) for item in items[number + 1 :]]
    if "compaction" in later and _UPDATE not in later[later.index("compaction") :]:
        reject("update_compaction", param=f"{at}.type")


def _find(items: list[Json], kind: str) -> list[int]:
    return [number for number, item in enumerate(items) if item.get("type") == kind]
