"""Stable prediction across unknown environments."""

from stablepred._version import __version__

__all__ = ["__version__"]
