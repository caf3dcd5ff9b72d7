"""The tests; a package, because other distributions install one of this name."""
