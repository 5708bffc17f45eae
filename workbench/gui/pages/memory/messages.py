"""What the Memory page says, in sentences, and the cells of its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.gui.widgets.formatting import memory, plain
from workbench.gui.widgets.table_model import Cell, Column

if TYPE_CHECKING:
    from workbench.deep.memory_study import StudyResult, StudyRow

COLUMNS = (
    Column("Setting", width=170),
    Column("Rows", width=66, right=True),
    Column("Peak, MB", width=92, right=True),
    Column("Most rows", width=100, right=True),
    Column("Model", width=72, right=True),
    Column("Batch", width=68, right=True),
    Column("Backward", width=98, right=True),
    Column("Step", width=62, right=True),
)

STANDS = "Worked out from shapes alone: no data is read and nothing is charged."
EMPTY = (
    "Choose networks and how many rows they take at once, and press Compute. You will see what training needs in each "
    "phase, and the most rows that fit into memory."
)
NO_NETWORK = "Choose at least one network."
NOTHING_OPEN = "Open a table or images on the Data page first"
GPU_UNKNOWN = "To see the most rows that fit, type the GPU's memory on the left."
TAKE_TIP = "Offer the network and the rows of the selected line on Train; nothing is started"
ROWS_TIP = "Rows in memory at once"
MOST_TIP = "The most rows at once whose peak still fits into the memory that there is"
CHARTS = {
    "phases": "Four phases of the selected setting",
    "peak": "Peak of every setting",
    "model": "Model, every setting",
    "batch": "Batch, every setting",
    "backward": "Backward, every setting",
    "step": "Step, every setting",
}


def note(result: StudyResult | None) -> str:
    """Return what stands at the foot: what the rows were to fit in, or that nothing is read."""
    if result is None:
        return STANDS
    if result.fit is None:
        return GPU_UNKNOWN
    return f"Most rows: what fits in {memory(result.fit)}, beside the data."


def table_cells(result: StudyResult) -> list[tuple[Cell, ...]]:
    """Return a line of the table for each setting."""
    from workbench.deep.memory import PHASES
    from workbench.deep.memory_study import line_name

    lines, highest = result.lines, max(row.peak for row in result.rows)
    found = []
    for row in result.rows:
        beyond = result.fit is not None and row.peak > result.fit
        most = result.largest.get(row.line)
        fits = Cell("–", "muted") if most is None else Cell(f"{most:,}", tip=MOST_TIP, exact=str(most))
        sizes = [_size(row.phases[name], highest) for name in PHASES]
        peak = _size(row.peak, highest)
        if beyond:
            peak = peak._replace(text=f"! {peak.text}", look="danger", tip="More than the memory that there is")
        name = Cell(line_name(row.line, lines), tip=row.line.network.title)
        found.append((name, Cell(f"{row.batch:,}", tip=ROWS_TIP, exact=str(row.batch)), peak, fits, *sizes))
    return found


def first_selected(result: StudyResult) -> int:
    """Return the row that is selected at first: the largest batch that fits, of the first private setting."""
    private = [at for at, row in enumerate(result.rows) if row.line.private] or list(range(len(result.rows)))
    of_first = [at for at in private if result.rows[at].line == result.rows[private[0]].line]
    fitting = [at for at in of_first if result.fit is None or result.rows[at].peak <= result.fit]
    return (fitting or of_first)[-1]


def remarks_text(remarks: Sequence[str]) -> str:
    """Return the remarks of a study as lines."""
    return "\n".join(remarks)


def taken(row: StudyRow) -> str:
    """Return what was offered on the Train page."""
    return f"Train offers {row.line.network.title} with {row.batch:,} rows in a step; nothing was started."


def _size(size: int, highest: int) -> Cell:
    """Return bytes in MB: one digit behind the point where the figures of the table are small."""
    text = f"{size / 1e6:,.0f}" if highest >= 1e9 else f"{size / 1e6:,.1f}"
    return Cell(text, tip=f"{size:,} bytes", exact=plain(size) if size < 1000 else str(size))
