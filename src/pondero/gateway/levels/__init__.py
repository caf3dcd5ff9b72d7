"""The level of a request: as requested, under the rules of key and route, in every place."""
