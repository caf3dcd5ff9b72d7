"""A service in miniature for every dialect, in process or as a server."""
