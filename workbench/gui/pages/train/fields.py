"""The fields of each model's form in the words of the window: their order, names, units, and what they mean."""

from __future__ import annotations

SELDOM = "SELDOM CHANGED"

NETWORK = (
    "epsilon",
    "delta",
    "batch",
    "epochs",
    "lr",
    "clip",
    "noise",
    "optimizer",
    "momentum",
    "physical_batch",
    "seconds",
    "device",
)
NETWORK_REST = "noise"
NETWORK_WORDS = {
    "epsilon": "privacy budget",
    "batch": "rows in a step",
    "lr": "learning rate",
    "clip": "clipping norm",
    "physical_batch": "rows in memory",
    "seconds": "stop after",
}
NETWORK_HELP = {
    "epsilon": "what training may cost at most; it stops before it would cost more",
    "delta": "probability that is left out of the guarantee; it must be below one in the number of rows",
    "batch": "how many rows a step looks at, on average; more rows drown the noise, and each step costs more",
    "epochs": "how often each row is looked at, on average; more passes need more noise for the same ε",
    "lr": "how far each step moves the model",
    "clip": "the most that one row can pull at the model; the noise is measured in it",
    "noise": "noise of a step over the clipping norm; left empty, it follows from ε",
    "optimizer": "how noisy gradients become steps; it costs nothing",
    "momentum": "how much of the former step is kept, with sgd; it costs nothing",
    "physical_batch": "most rows that are in memory at once; fewer need less memory and give the same result",
    "seconds": "end after this time, at a lower cost",
    "device": "where it is computed: a GPU where there is one, or the processor",
}
NETWORK_UNSAID = (("epsilon", "no target"), ("noise", "from ε"), ("seconds", "never"))
"""What stands in a field that is left empty."""

COUNTING = (
    "epsilon",
    "count_share",
    "smoothing",
    "noise_limit",
    "mean_spread",
    "typical_variance",
    "separate_below",
)
COUNTING_REST = "count_share"
COUNTING_WORDS = {
    "epsilon": "privacy budget",
    "count_share": "share of class sizes",
    "smoothing": "added to counts",
    "noise_limit": "noise limit of means",
    "mean_spread": "spread of means",
    "typical_variance": "variance in a class",
    "separate_below": "own variance below",
}
COUNTING_UNITS = {
    "count_share": "of ε",
    "noise_limit": "half-ranges",
    "mean_spread": "half-ranges",
    "typical_variance": "half-ranges²",
    "separate_below": "half-ranges²",
}
_HALF = "; a half-range is half the way between an attribute's bounds"
COUNTING_HELP = {
    "epsilon": "how much the model may tell of one row; smaller is more private and less accurate",
    "count_share": "the part of ε for the sizes of the classes, which all else is divided by; attributes get the rest",
    "smoothing": "rows by which each value of a category counts as having more, so that none is called impossible",
    "noise_limit": f"where class means are noisier than this, fewer attributes are used, the first ones{_HALF}",
    "mean_spread": f"how far class means usually lie from the common mean; noisy ones are drawn to it{_HALF}",
    "typical_variance": f"the variance that is usual within a class; noisy ones are drawn to it{_HALF}",
    "separate_below": f"the noise up to which each class has a variance of its own; else they share one{_HALF}",
}
