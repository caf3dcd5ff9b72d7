"""The verbs of the gateway: serve, launch, keys."""
