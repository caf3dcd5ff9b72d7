"""An answer on its way from a model to the client."""
