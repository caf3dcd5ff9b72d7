"""The items of a request: conversation, pairs of call and result, checks."""
