"""What the service rejects once a request is read; ``rules.accept`` calls these in its order."""
