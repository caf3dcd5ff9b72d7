"""Our own requests and responses as a server speaks them."""
