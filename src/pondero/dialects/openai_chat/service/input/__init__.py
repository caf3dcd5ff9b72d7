"""The messages of a request, strictly and leniently."""
