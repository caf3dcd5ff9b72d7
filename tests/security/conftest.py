"""What the tests of this folder share: a command line that can be called."""

from tests.cli.conftest import call

__all__ = ["call"]
