"""A dialect to begin from: the smallest wire on which every law holds.

Copy this folder to `src/pondero/dialects/<name>/` and change it file by file; CONTRIBUTING.md has
the steps. The wire is made up: one JSON object a request, typed parts, a server-sent stream.
"""
