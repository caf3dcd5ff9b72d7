"""What a run found, as values and as files."""
