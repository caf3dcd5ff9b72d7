"""The catalog's opinion and the service's rules, written apart, say the same of every model."""

import pytest
from tests.dialects.openai_responses.making import HELLO

import pondero
from pondero.canon import Request, Target
from pondero.dialects.openai_responses.caller import CALLER
from pondero.dialects.openai_responses.service import SERVICE
from pondero.dialects.openai_responses.service.models import table

MODELS = [
    (service, name)
    for service, rows in table().items()
    for name, row in rows.items()
    if not row.elsewhere and service not in SERVICE.also_at  # the catalog has another API of these
]
LEVELS = (None, "off", "minimal", "low", "medium", "high", "xhigh", "max", True, 4000)


@pytest.mark.parametrize(("service", "model"), MODELS)
def test_every_level_of_every_model_is_taken_and_means_the_same(service, model):
    target = Target(service, "https://x.example/v1", {"authorization": "Bearer k"})
    for level in LEVELS:
        for temperature in (None, 0.5):
            planned = pondero.plan(
                f"{service}:{model}", level, temperature=temperature, max_tokens=8000
            )
            request = Request(model, HELLO, max_tokens=8000, temperature=temperature)

            found = SERVICE.accept(CALLER.encode(request, planned, target), service)

            assert planned.will_think in (None, found.thinks), (level, temperature)
