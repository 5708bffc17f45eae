"""``python -m workbench`` is the same program as ``workbench``."""

import sys

from workbench.cli import main
from workbench.data.columnar_child import WORD
from workbench.data.columnar_child import main as read_columnar

if __name__ == "__main__":
    # A bundle has no other interpreter: its reader of columnar files is the bundle itself.
    sys.exit(read_columnar() if sys.argv[1:] == [WORD] else main())
