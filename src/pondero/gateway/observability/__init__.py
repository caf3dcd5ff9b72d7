"""Records of finished requests, and their observers."""
