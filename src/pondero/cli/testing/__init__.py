"""The verbs for tests: emulate, contract, guard, decode."""
