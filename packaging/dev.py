#!/usr/bin/env python3
"""Set up the workbench in this folder, then run it, test it or bundle it.

    python3 packaging/dev.py run [FILE]
    python3 packaging/dev.py test [PYTEST ARGUMENTS]
    python3 packaging/dev.py bundle

This file keeps to syntax that every Python can read, so that an old one says in one sentence what is wrong.
"""

import os
import sys

OLDEST = (3, 11)


def main():
    # type: () -> int
    """Return the exit status: 2 where this Python cannot do it, else that of the work."""
    here = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < OLDEST:
        sys.stderr.write(
            "error: the workbench needs Python 3.11 or newer (this is Python " + here + "); "
            "run it with a newer one, for example: python3.12 packaging/dev.py run\n"
        )
        return 2
    if sys.maxsize < 2**32:
        sys.stderr.write(
            "error: the workbench needs a 64-bit Python (this is a 32-bit Python " + here + "); "
            "install the 64-bit one and run this again\n"
        )
        return 2
    # Not before: their syntax is beyond an old Python. The folder is named for a Python told to be safe (-P).
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import workshop

    return workshop.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
