"""What stands on the card of a model whose settings may have been chosen by private figures."""

from __future__ import annotations

CHOSEN = (
    "Private figures of these rows were shown before the settings were made: the guarantee does not cover what a "
    "choice by them tells of the rows."
)
"""What a card says of a model whose settings may have been chosen by such figures."""
