"""`pondero sweep`."""
