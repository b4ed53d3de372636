"""unbraid: split sequences into what stays and what moves."""

__version__ = "0.1.0.dev0"
