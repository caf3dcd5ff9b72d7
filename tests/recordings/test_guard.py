"""The guard over real exchanges: what a service took is not warned of, what it refused is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondero.contract import GuardFinding, check_file
from pondero.dialects import NAMES

from .corpus import FILES

CASES = [file for name in NAMES for file in FILES.get(name, ())]
pytestmark = pytest.mark.recordings

# What a service took although the guard warns of it, by id.
TAKEN = {
    "a660002698-063ad42d79": "a call and its result have different ids: put together by hand",
    "a660002698-5d25630f43": "a call and its result have different ids: put together by hand",
}
# What a service refused because of its past, by id, and the trap it fell into.
REFUSED = {"bbbd69cf2b-a076d5de52": "thinking_unfollowed"}

PROOFS = ("signature", "encrypted_content", "thoughtSignature", "reasoning", "data")


def _found(folder: Path, file: str) -> tuple[dict[str, list[GuardFinding]], set[str], set[str]]:
    """Return the findings of a file by the exchange's id, all ids, and those that were taken."""
    path = folder / f"{file}.jsonl"
    if not path.exists():
        pytest.skip(f"no {file}.jsonl in {folder}")
    data = path.read_bytes()
    exchanges = [json.loads(line) for line in data.split(b"\n") if line.strip()]
    ids = [each["id"] for each in exchanges]
    taken = {each["id"] for each in exchanges if each["response"]["status"] < 400}
    found: dict[str, list[GuardFinding]] = {}
    for finding in check_file(data, file).findings:
        found.setdefault(ids[(finding.exchange or 0) - 1], []).append(finding)
    return found, set(ids), taken


def test_every_file_is_read_whole_whatever_wires_are_in_it(recordings: Path):
    for path in sorted(recordings.glob("*.jsonl")):
        data = path.read_bytes()
        assert check_file(data, path.name).lines == sum(
            bool(line.strip()) for line in data.split(b"\n")
        )


@pytest.mark.parametrize("file", CASES)
def test_nothing_that_a_service_took_is_called_a_trap(recordings: Path, file):
    found, ids, taken = _found(recordings, file)
    alarms = {id for id in taken & set(found) if any(each.refused for each in found[id])}
    surprises = [f"{id}: {found[id]}" for id in alarms - set(TAKEN)]
    assert not surprises, "\n".join(surprises[:20])
    assert not set(TAKEN) & ids - alarms, "no longer needs to be left out"


@pytest.mark.parametrize("file", CASES)
def test_what_a_service_refused_for_its_past_is_explained(recordings: Path, file):
    found, ids, taken = _found(recordings, file)
    for id, code in REFUSED.items():
        if id in ids:
            assert id not in taken
            assert [each.code for each in found.get(id, ())] == [code]


@pytest.mark.parametrize("file", CASES)
def test_what_is_called_lost_is_not_in_the_request_and_was_in_an_answer(recordings: Path, file):
    """Held against the text of the exchanges alone: an answer's proof that a later body lacks."""
    found, _, _ = _found(recordings, file)
    data = (recordings / f"{file}.jsonl").read_bytes()
    exchanges = {(e := json.loads(line))["id"]: e for line in data.split(b"\n") if line.strip()}
    numbered = list(exchanges.values())
    for id, findings in found.items():
        for finding in (each for each in findings if not each.refused):
            given = numbered[int(finding.what.split("exchange ")[1].split()[0]) - 1]
            proofs = set(_proofs(given["response"].get("body") or given["response"]["stream"]))
            assert proofs, f"{id}: {finding.what}"
            sent = json.dumps(exchanges[id]["request"]["body"])
            assert any(proof not in sent for proof in proofs), f"{id}: {finding.what}"


def _proofs(value: object) -> Iterator[str]:
    """Yield what stands in an answer under the names that proofs and thoughts have."""
    if isinstance(value, str):
        for line in value.splitlines():
            if line.startswith("data:") and line[5:].strip() not in ("", "[DONE]"):
                yield from _proofs(json.loads(line[5:]))
    elif isinstance(value, list):
        for each in value:
            yield from _proofs(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in PROOFS and isinstance(inner, str) and inner:
                yield inner
            elif key == "type" and inner == "reasoning" and isinstance(value.get("id"), str):
                yield value["id"]
            else:
                yield from _proofs(inner)
