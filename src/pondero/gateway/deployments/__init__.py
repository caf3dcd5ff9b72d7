"""Several accounts for one model: which one is asked, what it has room for, and who stays where."""
