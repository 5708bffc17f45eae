"""``python -m workbench`` is the same program as ``workbench``."""

import gc
import os
import signal
import sys


def _quit(number: int, frame: object) -> None:
    """End the program while it is being loaded, or has ended: nothing is open yet, or any more."""
    os.write(2, b"error: cancelled\n")
    os._exit(4)


def entry() -> int:
    """Run the program; from its first line on Ctrl+C ends it, before anything large is imported."""
    signal.signal(signal.SIGINT, _quit)
    from workbench.processes.child_program import called

    status = called(sys.argv[1:])
    if status is not None:
        return status
    gc.disable()  # what modules make while they are loaded is no garbage; to look for some takes a fifth of the start
    from workbench.cli import main

    code = main()
    gc.freeze()  # nor is it looked for at the end, when the system takes back everything
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and said: Python's own end would make a -2 of it
    return code


if __name__ == "__main__":
    sys.exit(entry())
