"""The contents of gateway.toml, and the models that a name means."""
