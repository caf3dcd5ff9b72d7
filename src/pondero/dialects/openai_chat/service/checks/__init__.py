"""The service's checks of the parts of a request."""
