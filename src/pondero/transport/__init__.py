"""How bytes move between us and a service: the only rooms that wait."""
