"""What the columns of a DataFrame look like, for the person who has it: private."""

from __future__ import annotations

import pandas as pd

from workbench.api.frames import frame_of, table_of
from workbench.api.study_warning import PRIVATE, warn_of_study
from workbench.data.columns.profile import profile


def describe(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what is in each column of ``frame``: private, as it is computed from the rows without noise.

    Returns:
        One row a column: ``column``, ``dtype``, ``kind`` (the likeliest of integer, real, category, boolean and date),
        ``missing``, ``distinct`` and ``look_at`` (what a person should check before a release). ``attrs`` hold
        ``rows`` and ``private``.

    Raises:
        InputError: it is not a DataFrame, or a cell is not a plain value.
    """
    table = table_of(frame)
    found = profile(table)
    warn_of_study("a description", hint="it is computed from the rows without noise")
    return frame_of(
        {
            "column": list(frame.columns),
            "dtype": [str(dtype) for dtype in frame.dtypes],
            "kind": [c.kind for c in found],
            "missing": [c.missing for c in found],
            "distinct": [c.distinct for c in found],
            "look_at": ["; ".join(s.reason for s in c.suspicions) for c in found],
        },
        rows=table.rows,
        private=PRIVATE,
    )
