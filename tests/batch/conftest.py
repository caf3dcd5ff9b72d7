"""Every test of batches has a data folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir
