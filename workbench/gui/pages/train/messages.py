"""What the Train page says of a run, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.gauges.budget import DELTA_WORDS
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets.formatting import at_most, entered, exactly, plain, still_left
from workbench.learners.tasks import task

if TYPE_CHECKING:
    from workbench.deep.networks import Network
    from workbench.learners import Learner
    from workbench.release.model.preflight import Preflight

WHY = {
    "epochs": tr_later("all epochs"),
    "cap": tr_later("stopped before its target ε"),
    "clock": tr_later("stopped by the clock"),
}
SHOWN = tr_later("Private figures are shown: cancelling the run gives no ε back.")
QUIET = tr_later("No private figure is shown: until an accuracy is shown, cancelling costs only the steps taken.")
WATCHED = tr_later(
    "Its figures are private: the card or certificate of every later release of these rows will "
    "say that private figures were shown before. A quiet run shows none and leaves no such note."
)
"""What is said before the first training whose figures are watched."""

QUIET_NOW = tr_later("Quiet: until an accuracy is shown, cancelling costs only the steps taken.")
SHOWN_NOW = tr_later("What is shown is private, so cancelling gives no ε back.")
PAUSED = tr_later("The paused run holds this ε: resume it, or give it up.")
NEEDS_TORCH = tr_later("Training a network needs PyTorch: {how}")
FREE = tr_later("Whoever has the released synthetic rows can train a model on them at no further cost.")
DONE = tr_later("The model is released and paid for; its card says what it guarantees.")
DONE_AND_SPENT = tr_later("Released and paid for. Another run needs a higher cap: {left}.")
"""The text at the foot while a network trains, is paused, or is done."""


def no_steps(chosen: Learner | Network) -> str:
    """Return why a run of a model that is not trained step by step shows no charts."""
    about = tr_sentence(chosen.about)
    return tr(
        "{title} takes no steps: {how} There is no progress to show.",
        title=tr_sentence(chosen.title),
        how=f"{about[:1].lower()}{about[1:]}",
    )


FIFTH = 5
LEAST_POINTS = 4
NEARLY_ALL, HARDLY_ANY = 0.95, 0.02  # shares of clipped rows that are remarked upon

RISEN = 1.5  # times the least mean from which a loss has risen


def cost(found: Preflight | None, *, working: bool = False) -> str:
    """Return the price of a run, or that it is being worked out."""
    if found is None:
        return tr("working out the cost…") if working else "–"
    return f"ε = {at_most(found.epsilon)}" + (f", δ = {entered(found.delta)}" if found.delta else "")


def steps(found: Preflight) -> str:
    """Return how many steps there will be, and how much of the table each one sees."""
    taken, share = tr_number(found.steps, ","), plain(100 * (found.sample_rate or 0))
    if found.steps == found.steps_asked:
        return tr("{steps}, {share} % of the rows each", steps=taken, share=share)
    return tr(
        "{steps} of {asked}: its target ε ends it, {share} % of the rows each",
        steps=taken,
        asked=tr_number(found.steps_asked, ","),
        share=share,
    )


def question(
    chosen: Learner | Network,
    target: str | None,
    folder: Path,
    found: Preflight,
    *,
    quiet: bool = False,
    tested: int = 0,
) -> str:
    """Return what is asked before the charge; ``tested``: images declared public that it is measured on."""
    back = tr(QUIET) if quiet else tr("Cancelling gives no ε back, because private figures are shown while it trains.")
    made = task(chosen.task)
    use = tr_sentence(made.alone) if target is None else tr_sentence(made.use).replace("{target}", target)
    of = f" ({tr_sentence(found.made_of)})" if found.made_of else ""
    charged = f"{at_most(found.epsilon)}{exactly(found.epsilon)}{of}"
    if found.delta:
        charged = tr("{epsilon} and δ = {delta}", epsilon=charged, delta=entered(found.delta))
    asked = tr(
        "{title}: {use}, released into {name}. This charges ε = {cost} for good: a release cannot be undone.",
        title=tr_sentence(chosen.title),
        use=use,
        name=folder.name,
        cost=charged,
    )
    also = tr(DELTA_WORDS) if found.delta else "", back if found.sigma is not None else ""
    parts = [" ".join(filter(None, (asked, *also)))]
    if tested:
        parts.append(
            tr_n(
                "The card states its accuracy on {n} test image, which you declare public.",
                "The card states its accuracy on {n} test images, which you declare public.",
                tested,
            )
        )
    return "\n\n".join([*parts, *(f"⚠ {tr_sentence(warning)}" for warning in found.warnings)])


def finished(result: Any) -> str:
    """Return where the model is, and what it cost."""
    network = result if hasattr(result, "steps") else None
    model = result if network is None else network.model
    delta = f", δ = {entered(model.delta_charged)}" if model.delta_charged else ""
    stated = [
        tr(
            "Released to {output}. Charged ε = {cost}; {left} under the cap.",
            output=model.output,
            cost=f"{at_most(model.epsilon_charged)}{exactly(model.epsilon_charged)}{delta}",
            left=still_left(model.epsilon_remaining),
        )
    ]
    if network is not None:
        stated.append(tr_n("{n} step: {why}.", "{n} steps: {why}.", network.steps, why=tr(WHY[network.stopped])))
    if network is not None and network.accuracy is not None:
        accuracy = tr_number(network.accuracy, ".3f")
        stated.append(
            tr("Accuracy on the public test images {accuracy}; it is on the card.", accuracy=accuracy)
            if network.accuracy_public
            else tr("Accuracy on the last epoch's batches {accuracy} (private).", accuracy=accuracy)
        )
    return " ".join([*stated, tr_sentence(model.uses).replace("epsilon", "ε")]).rstrip()


def rising_words(losses: Sequence[float]) -> str:
    """Return a warning where the loss of the last steps lies far above the best ones before; else nothing.

    A loss that is noise alone goes up and down: what is compared are means over a fifth of the steps.
    """
    part = len(losses) // FIFTH
    if part < LEAST_POINTS:
        return ""
    means = [sum(losses[at : at + part]) / part for at in range(0, part * FIFTH, part)]
    least, last = min(means[:-1]), means[-1]
    if last < RISEN * least:
        return ""
    return tr(
        "⚠ The loss rises: from about {least} to {last}. The noise or the steps are too large: "
        "lower the learning rate or the clipping norm, or take larger batches.",
        least=plain(float(f"{least:.2g}")),
        last=plain(float(f"{last:.2g}")),
    )


CHOOSING = tr_later(
    "Choosing settings by private figures reveals more of the rows than ε says. The ε of the next model is its whole "
    "guarantee only if its settings were chosen on public data. The ledger notes that private figures were shown."
)
"""What is below every remark that advises other settings, and below every study on private rows."""


def clipped_words(share: float | None) -> str:
    """Return a remark where nearly all rows are clipped, or hardly any; ``share`` is of rows, ``None`` unknown."""
    if share is None:
        return ""
    if share >= NEARLY_ALL:
        return tr(
            "⚠ {share} % of the rows are clipped: their sizes no longer differ. Try a larger clipping "
            "norm with a learning rate smaller by the same factor, or fewer epochs.",
            share=tr_number(100 * share, ".0f"),
        )
    if share <= HARDLY_ANY:
        return tr(
            "⚠ Only {share} % of the rows are clipped, and the noise is in proportion to the clipping "
            "norm: try a smaller one.",
            share=tr_number(100 * share, ".0f"),
        )
    return ""


def went_words(stages: Sequence[tuple[str, float, int]]) -> str:
    """Return what clipping and noise cost, of (name, accuracy, rows it was measured on) of three trainings."""
    plain, clipped, noisy = (accuracy for _, accuracy, _ in stages)
    rows = stages[0][2]
    return tr(
        "Clipping costs {clipping} points, noise {noise}. A seeded study on {rows} held-out rows: "
        "nothing is released or charged.",
        clipping=points(plain - clipped),
        noise=points(clipped - noisy),
        rows=tr_number(rows, ","),
    )


def points(share: float) -> str:
    """Return a difference of two shares in points; one that is below 0 costs nothing."""
    return tr_number(max(0.0, 100 * share), ".1f")


def broken_off(step: int, of: int, what: str, how: str) -> str:
    """Return how a run ended that released nothing, after which step (0: none), and ``what`` it costs."""
    if step:
        how = tr("{how} after {step} of {steps} steps", how=how, step=tr_number(step, ","), steps=tr_number(of, ","))
    return f"{how}. {what}"
