"""Which variables of an environment hold a secret: their names say so."""

import re
from collections.abc import Iterator, Mapping

# Found where nobody registered them (a header, a variable), shorter values are rather words:
# "EMPTY", "lm-studio", "not-needed".
LEAST_LEARNED = 12

_VARIABLE = re.compile(
    r"(?:.*_)?(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD)|AWS_BEARER_TOKEN_.*", re.IGNORECASE
)


def secrets_of(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables whose names say that they hold a key."""
    for name, value in environment.items():
        if _VARIABLE.fullmatch(name) and len(value.strip()) >= LEAST_LEARNED:
            yield value.strip()
