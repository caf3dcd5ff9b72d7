"""``python -m pondero`` is the program ``pondero``."""

from .cli import main

if __name__ == "__main__":
    main()
