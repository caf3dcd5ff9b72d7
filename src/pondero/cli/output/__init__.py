"""Printing that the verbs share."""
