"""The corpus through the vendors' own SDKs, against a running ``pondero emulate``.

A bad request raises the SDK's error for its status, its neighbour is answered. The quick
profile sends an even sample of the cases, the others send all.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import settings
from tests.referee.cases import Case, cases_of, judge
from tests.referee.sdk_calls import SDKS, NotSendable, Sdk, head_of

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # The SDKs leave their connections open until they are collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    code = "from pondero.cli import main; main()"
    command = [sys.executable, "-c", code, "emulate", "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as emulator:
        try:
            assert emulator.stdout is not None
            yield emulator.stdout.readline().strip()
        finally:
            emulator.kill()


def sample(cases: Sequence[Case]) -> Sequence[Case]:
    """Return all cases, or in the quick profile some of them, evenly."""
    quick = settings.default is not None and settings.default.max_examples < 100
    return cases[:: -(-len(cases) // 40) if quick else 1]


def try_case(sdk: Sdk, url: str, case: Case) -> str | None:
    """Return what the SDK does otherwise than it should; raises NotSendable."""
    if head_of(case.bad) != head_of(case.good):
        raise NotSendable
    rejected = judge(sdk.dialect, case, case.bad)
    assert rejected is not None
    status = int(rejected[1].partition(":")[0])
    try:
        return f"answered {case.bad.body!r}: {sdk.send(url, case.bad)}"
    except sdk.error as error:
        kind = sdk.classes.get(status, sdk.error)
        if sdk.status(error) != status or not isinstance(error, kind):
            return f"expected {status}, {kind}: {error!r}"
    try:
        sdk.send(url, case.good)
    except sdk.error as error:
        return f"the neighbour: {error!r}"
    return None


@pytest.mark.parametrize("sdk", SDKS, ids=lambda each: each.name)
def test_the_sdk_raises_its_error_for_a_bad_request_and_reads_its_neighbour_s_answer(sdk, url):
    wrong, sent = [], 0
    cases = sample([case for case in cases_of(sdk.dialect) if case.provider == sdk.provider])
    for case in cases:
        try:
            said = try_case(sdk, url, case)
        except NotSendable:
            continue
        sent += 1
        if said is not None:
            wrong.append(f"{case.rule}: {said}")
    assert wrong == []
    assert sent * 2 >= len(cases)
