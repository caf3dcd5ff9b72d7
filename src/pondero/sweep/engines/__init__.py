"""How trials are sent: live, as a batch, or on a Ray cluster."""
