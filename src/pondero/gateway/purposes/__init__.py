"""The purposes of clients' requests, and the rules that give each purpose its level and model."""
