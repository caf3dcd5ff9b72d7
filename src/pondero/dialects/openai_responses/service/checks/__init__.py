"""Checks of one subject each: schemas, tools, stored state, updates, thinking."""
