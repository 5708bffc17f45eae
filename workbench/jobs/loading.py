"""Import large libraries in a job without holding up the window.

An import makes hundreds of thousands of objects. Python's collector would walk all of them again and again while
they are made, and now and then for ever after. Each full walk blocks the interpreter for a quarter of a second, and
with it every other thread, including the window's.
"""

from __future__ import annotations

import gc
import importlib
import sys
import threading

from workbench.signals.cancel import NEVER, CancelToken

_LOADING = threading.Lock()


def load(*modules: str, cancel: CancelToken = NEVER) -> None:
    """Import ``modules``; the collector is paused meanwhile, and ignores the loaded objects afterwards.

    It then ignores everything else that is there, too, so that nothing is done where all of them are loaded already.

    Args:
        modules: full names.
        cancel: checked between two of them.

    Raises:
        CancelledError: a stop was requested.
    """
    with _LOADING:  # two loads at a time would re-enable the collector for each other
        missing = [name for name in modules if name not in sys.modules]
        if not missing:
            return
        # What nobody needs any more would stay for ever. In a job it stays: a widget in a cycle that is deleted in
        # another thread than the window's can end the program.
        if threading.current_thread() is threading.main_thread():
            gc.collect()
        was_on = gc.isenabled()
        gc.disable()
        try:
            for name in missing:
                cancel.check()
                importlib.import_module(name)
        finally:
            gc.freeze()
            if was_on:
                gc.enable()
