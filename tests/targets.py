"""A deployment of the catalog, with a key that is none."""

from pondero.canon import Target
from pondero.catalog import ModelEntry

_AUTH = {
    "bearer": {"authorization": "Bearer sk-test"},
    "x-api-key": {"x-api-key": "sk-test"},
    "x-goog-api-key": {"x-goog-api-key": "test"},
    "api-key": {"api-key": "test"},
    "aws": {"authorization": "Bearer test"},
}


def target(entry: ModelEntry) -> Target:
    """Return where a model's requests go."""
    provider = entry.provider
    return Target(
        provider.name,
        provider.url + provider.path,
        _AUTH.get(provider.auth, {}),
        entry.capability.max_output,
        provider.quirks,
    )
