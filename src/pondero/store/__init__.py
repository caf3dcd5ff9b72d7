"""What is kept on disk: the user's files, and later the threads."""

from .folders import catalog_files, config_folder, config_text

__all__ = ["catalog_files", "config_folder", "config_text"]
