"""`python -m semsearch` is the command `semsearch`."""

from semsearch.cli import main

if __name__ == "__main__":
    main(prog_name="semsearch")
