"""What the run card says of the memory of a run: predicted, measured after the first step, and now."""

from __future__ import annotations

from workbench.gui.widgets.formatting import memory
from workbench.signals.events import Memory


def memory_words(sample: Memory) -> str:
    """Return a sentence on one sample of a run, of which all figures are of the run alone.

    Where the run has told its phases, the gauge shows what it takes now.
    """
    predicted = _predicted(sample)
    if predicted:
        return predicted
    now, peak = memory(sample.now - sample.before), memory(sample.peak - sample.before)
    return f"Rows and model take {now}, at most {peak} so far."


def _predicted(sample: Memory) -> str:
    """Return what was predicted beside what the first step took, and what is expected since where that is more."""
    if sample.forecast is None or sample.first_step is None:
        return ""
    stated = f"Predicted {memory(sample.forecast)}, measured {memory(sample.first_step)} after the first step."
    expected = 0 if sample.predicted is None else sample.predicted - sample.before
    if memory(expected) not in (memory(sample.forecast), memory(sample.first_step)) and expected:
        stated = f"{stated[:-1]}; {memory(expected)} are now expected."
    return stated
