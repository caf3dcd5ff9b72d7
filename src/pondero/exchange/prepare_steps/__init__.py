"""The steps of ``prepare`` that change a request, one file each."""
