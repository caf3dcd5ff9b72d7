"""Every provider's own words have a source and a date."""

from importlib.resources import files

import pytest

from pondero.dialects.openai_chat import service
from pondero.dialects.openai_chat.service.models import provider_of

NAMES = [
    path.name.removesuffix(".toml")
    for path in files(service.__name__).joinpath("providers").iterdir()
]


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_s_own_words_have_a_source_and_a_date(name):
    table = provider_of(name)
    rows = [table, *table.says.values()]
    assert all(row.source and row.checked.startswith("202") for row in rows)
