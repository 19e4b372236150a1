"""The command line: one module per command, loaded when it is called."""

from semsearch.cli.app import main, run

__all__ = ["main", "run"]
