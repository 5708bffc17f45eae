"""The terms that the window uses, each in one or two sentences: what Help → Glossary shows."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("ε (epsilon)", "How much one release can change what anybody believes about one person. Smaller is more private."),
    ("δ (delta)", "Chance that the guarantee fails. A sanitised table has none; a network trained with noise has."),
    ("Privacy budget", "The ε of all releases of one table together. The cap is the most that you allow."),
    ("Cap", "The limit on the budget of one table. The ledger refuses a release that does not fit below it."),
    ("Ledger", "The record of every charge on this computer. Entries are linked, so that a change is noticed."),
    ("Protect", "Each value of the column goes through a mechanism: what is released is random."),
    ("Keep", "The column is published as it is. No ε covers it, and the certificate says so."),
    ("Mechanism", "The rule by which a value is changed at random, such as randomised response or bounded Laplace."),
    ("Share of ε", "The part of the plan's ε that one column takes. More of it means less noise there."),
    (
        "Bounds, list of values",
        "Public facts about a column, declared from general knowledge, not read off the rows.",
    ),
    ("Mostly noise", "A constant answer, which costs no privacy, would serve about as well as the released column."),
    ("Recovered", "A mean or a share estimated from the noisy column by correcting for the known noise."),
    ("95 %", "An interval made in this way holds the true figure in 95 of 100 releases."),
    ("Certificate", "The file beside a release that says how it was made, what it cost and what is not covered."),
    ("Zero-out, replace-one", "Two ways to compare tables: one row blanked, or replaced by another. Both are given."),
    ("Private model", "A model that adds noise to what it learns. The model is released, and the rows are not."),
    ("Clipping norm", "The most that one row may move a network in one step."),
    ("σ (sigma)", "The noise of a training step, as a multiple of the clipping norm."),
)
