"""`python -m semsearch` is the command `semsearch`."""

from semsearch.cli import run

if __name__ == "__main__":
    run()
