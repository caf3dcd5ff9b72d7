"""Records of finished requests, and who is told of them."""
