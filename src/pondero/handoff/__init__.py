"""What of the past another model may see, with a manifest of what was withheld."""
