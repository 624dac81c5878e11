"""`python -m tests.random_mechanisms 0 50`: yards 0 to 49, of up to 50 mechanisms with 5 sets of numbers each."""

import argparse
import json
import sys
from pathlib import Path

from .sweep import MOVING, sweep, work


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_mechanisms", description=__doc__)
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first yard")
    parser.add_argument("last", type=int, nargs="?", default=50, help="the one after the last")
    parser.add_argument(
        "--record", type=Path, default=Path("random_mechanisms.jsonl"), help="what is known is not done again"
    )
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--moving", type=int, default=MOVING, help="how many mechanisms of a yard are also moved")
    given = parser.parse_args()
    if given.work:
        work(*json.loads(given.work))
        return 0
    return 1 if sweep(given.first, given.last, given.record, moving=given.moving) else 0


if __name__ == "__main__":
    sys.exit(main())
