"""`pondero ask`."""
