"""Start a client program on a private gateway."""
