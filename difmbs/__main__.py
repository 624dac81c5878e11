"""`python -m difmbs` is the command `difmbs`."""

from .command import main

if __name__ == "__main__":
    main(prog_name="difmbs")
