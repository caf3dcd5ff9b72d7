"""What replicas share, in memory or in Redis."""
