"""The cards of noisy rows: what will be published, what it costs, what ε does not cover, and where each is placed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from workbench.gui.gauges.budget import HIGH
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, Elided, Facts, button, caption, label, look, stack
from workbench.gui.widgets.explain import Explainable, of_plan, percent
from workbench.gui.widgets.formatting import at_least, at_most, count, in_full, listed, rounded
from workbench.privacy.accounting.posterior import posterior
from workbench.sanitize.clamping import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.recipient import (
    MOST_NAMED,
    RELATIONS_WAYS_OUT,
    Learnt,
    is_mostly_noise,
    learnt,
    mostly_noise,
    noisy_columns,
    relations_words,
)

if TYPE_CHECKING:
    from workbench.gui.session.draft import DraftColumn
    from workbench.sanitize.forecast import ColumnForecast, Forecast

FIGURE_MEANS = "The most that anyone can learn about one row, compared with a table in which it is"
"""Stands below the ε and is ended by each of the two lines that follow: … blanked, … replaced."""

ZERO_OUT = "Zero-out neighbours: somebody's row is blanked, the number of rows is public. The ledger counts in these."
REPLACE_ONE = (
    "Replace-one neighbours: somebody's row is replaced by any other. A sanitised table bounds both by the same "
    "ε; a model that was trained with noise may need more here."
)

LEARN_TIP = "With a confidence of about 95 %, from the mechanisms and the number of rows alone: no row was read for it"

SHOWN = 12
"""Attributes that are listed one by one; of a wider table the rest is counted."""

_KNOWN = 2
"""Significant digits of an error, which is known no better."""

WAYS_OUT = "Drop columns, round numbers to fewer steps, or release synthetic rows, statistics or a model instead."

WIDE = 1200
"""Pixels of width from which what will be published stands beside all the rest, as high as the page."""

LEAVES = (
    "Of images, only a trained network can be released. The Train page trains one with noise, charges it to the "
    "budget, and writes its folder: the weights and a card that states its ε. It is then listed below and can be "
    "verified."
)
STAYS = (
    "No image and no label is ever released, and no copy of the set, not even with noise: noisy rows, synthetic rows "
    "and statistics are for tables. What this window shows of the images, their counts, predictions and accuracies, "
    "is private as well."
)


class PublishedCard(Card):
    """One line per attribute: what is done to it, and its share of ε."""

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=8)
        self.setObjectName("release_published")
        self._session = session
        self._title = label("", "caption", name="release_published_title")
        self._size = label("", "muted", name="release_size")
        self._lines = QGridLayout()
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setHorizontalSpacing(16)
        self._lines.setVerticalSpacing(6)
        self._lines.setColumnMinimumWidth(0, 130)
        self._lines.setColumnStretch(0, 2)
        self._lines.setColumnStretch(1, 3)
        self._shown: list[_Line] = []
        self._more = label("", "muted", name="release_more")
        self._lines.addWidget(self._more, SHOWN, 0, 1, 3)
        holder = QWidget()
        holder.setLayout(self._lines)
        self._means = label(f"Of this release, {MEANS_ARE_OF_CLAMPED}.", "muted", wrap=True, name="release_means")
        self._learn = label("", wrap=True, name="release_learn")
        self._learn.setToolTip(LEARN_TIP)
        self._noise = label("", "warn", wrap=True, name="release_noise")
        self._relations = label("", "warn", wrap=True, name="release_relations")
        self._change = button("Change the plan…", "release_to_protect", "link", tip="Actions and shares of ε: Protect")
        self._change.clicked.connect(lambda: session.go("protect"))
        for part in (
            self._title,
            self._size,
            self._learn,
            self._noise,
            self._relations,
            self._change,
            holder,
            self._means,
        ):
            self.body.addWidget(part)
        self.body.addStretch(1)

    def show_plan(self, forecast: Forecast | None, *, again: bool) -> None:
        """Show the plan; mechanisms and shares once the forecast knows them.

        Args:
            forecast: what is known of it, or ``None`` until it is.
            again: whether this very plan was released, so that this is what another release would publish.
        """
        title = "What another release would publish" if again else "What will be published"
        self._title.setText(title.upper())
        self.setAccessibleName(title)
        opened, plan = self._session.opened, self._session.plan
        if opened is None:
            return
        left = [c for c in plan.columns if c.action != "drop"]
        order = "in their original order" if plan.keep_order else "in a new random order"
        self._size.setText(f"{count(opened.rows_under(plan), 'row')} × {count(len(left), 'column')}, rows {order}")
        rows = opened.rows_under(plan)
        self._learn.setVisible(forecast is not None)
        noise, relations = "", ""
        if forecast is not None:
            noise, relations = noise_words(forecast, rows), relations_words(forecast)
            self._learn.setText(learn_words(forecast, rows))
            self._noise.setText(f"⚠ {noise} {WAYS_OUT}")
            self._relations.setText(f"⚠ {relations} {RELATIONS_WAYS_OUT}")
        self._noise.setVisible(bool(noise))
        self._relations.setVisible(bool(relations))
        self._change.setVisible(bool(noise or relations))
        known = {c.name: c for c in forecast.columns} if forecast is not None else {}
        for at in range(min(SHOWN, len(plan.columns)), len(self._shown)):
            self._shown[at].setVisible(False)
        for at, column in enumerate(plan.columns[:SHOWN]):
            if at == len(self._shown):
                self._shown.append(_Line(self._lines, at))
            self._shown[at].setVisible(True)
            self._shown[at].show_column(column, known.get(column.name), rows)
        more = len(plan.columns) - SHOWN
        self._more.setVisible(more > 0)
        self._more.setText(f"and {more} more")
        self._means.setVisible(any(c.numeric for c in plan.protected))


class _Line:
    """One attribute. It is written over when the plan changes: a grid of new widgets is laid out a dozen times."""

    def __init__(self, grid: QGridLayout, at: int) -> None:
        self._name, self._done, self._share = self._parts = Elided(), Elided(), label()
        self._share.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for place, part in enumerate(self._parts):
            grid.addWidget(part, at, place)

    def setVisible(self, visible: bool) -> None:  # noqa: N802 - as a widget is shown
        for part in self._parts:
            part.setVisible(visible)

    def show_column(self, column: DraftColumn, known: ColumnForecast | None, rows: int) -> None:
        from workbench.privacy.local.mechanisms import mechanism

        self._name.set_whole(column.name)
        self._share.setText(f"ε {at_most(known.epsilon)}" if known else "–" if column.action != "protect" else "")
        self._share.setToolTip(in_full(known.epsilon) if known else "")
        look(self._share, "muted" if column.action == "drop" else "")
        done, kind, lost = mechanism(known.mechanism).title if known else "protected", "", ""
        if column.action == "keep":
            done, kind = "⚠ kept as it is", "warn"
        elif column.action == "drop":
            done, kind = "dropped", "muted"
        elif known is not None and mostly_noise(known, rows):
            done, kind = f"{done}  ⚠", "warn"
            lost = f"{column.name} will be mostly noise. {WAYS_OUT}"
        self._done.set_whole(done, lost)
        self._done.setAccessibleName(done)
        self._done.setAccessibleDescription(lost)
        look(self._done, kind)


class CostCard(Card):
    """The exact cost in both neighbouring relations, what remains of the cap, and two ways out where it is short."""

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=6)
        self.setObjectName("release_cost")
        self.setAccessibleName("What it costs")
        self._session = session
        self._figure = label("–", "figure", name="release_epsilon")
        self._facts = Facts()
        self._short = label("", "danger", wrap=True, name="release_short")
        self._high = label("", "warn", wrap=True, name="release_high")
        self.use_rest = button(
            "Use what remains", "release_use_rest", tip="Set the plan's ε to what remains under the cap"
        )
        self.raise_cap = button(
            "Raise the cap…", "release_raise_cap", "link", tip="The Ledger page sets the cap; the ledger records it"
        )
        self.raise_cap.clicked.connect(lambda: session.go("ledger"))
        self._explain = button("What does it mean?", "release_explain", "link", accessible="What does this ε mean?")
        self._explain.clicked.connect(lambda: session.explain(of_plan(session).epsilon))
        Explainable(self, session, lambda: of_plan(session))
        head = caption("WHAT IT COSTS", self._explain)
        for part in (
            head,
            self._figure,
            label(FIGURE_MEANS, "muted", wrap=True, name="release_compared"),
            self._facts,
            self._high,
            self._short,
            self.use_rest,
            self.raise_cap,
        ):
            self.body.addWidget(part)
        self.body.addStretch(1)

    def show_cost(self, forecast: Forecast | None) -> None:
        """Show the plan's cost against the account."""
        plan, account = self._session.plan, self._session.account
        cost = forecast.epsilon_total if forecast is not None else plan.cost()
        self._figure.setText(f"ε = {at_most(cost)}" if cost is not None else "–")
        self._figure.setToolTip(in_full(cost))
        stated = at_most(cost) if cost is not None else "–"
        self._facts.show_line("zero_out", "blanked (zero-out)", stated, tip=f"{ZERO_OUT}\n{in_full(cost)}".strip())
        one = Decimal(repr(forecast.replace_one_epsilon)) if forecast is not None else cost
        stated = at_most(one) if one is not None else "–"
        tip = f"{REPLACE_ONE}\n{in_full(one)}".strip()
        self._facts.show_line("replace_one", "replaced (replace-one)", stated, tip=tip)
        self._facts.show_line("delta", "δ", "0")
        if plan.rows_per_person != 1:
            self._facts.show_line("rows_each", "rows of one person", str(plan.rows_per_person))
        else:
            self._facts.hide_line("rows_each")
        remaining = account.remaining
        if account.problem:
            stated = "not certain who pays" if account.in_doubt else "cannot be read"
            self._facts.show_line("cap_left", "ledger", stated, "danger")
            self._facts.hide_line("after")
        elif remaining is None:
            self._facts.show_line("cap_left", "cap", "this release sets it", "muted")
            self._facts.hide_line("after")
        else:
            assert account.cap is not None
            self._facts.show_line(
                "cap_left", f"remains of ε {at_least(account.cap)}", at_least(remaining), tip=in_full(remaining)
            )
            after = remaining - (cost or Decimal(0))
            if cost is not None and after >= 0:
                self._facts.show_line("after", "remains afterwards", at_least(after), "accent", tip=in_full(after))
            elif cost is not None:
                self._facts.show_line("after", "short by", at_most(-after), "danger", tip=in_full(-after))
            else:
                self._facts.hide_line("after")
        high = cost is not None and cost > HIGH
        self._high.setVisible(high)
        if cost is not None and high:
            self._high.setText(f"⚠ High: a suspicion of 10 % can grow to {percent(posterior(float(cost), 0.1).high)}.")
        short = remaining is not None and cost is not None and cost > remaining
        self._short.setVisible(short)
        if remaining is not None and short:
            released = self._session.has_released(plan)
            look(self._short, "muted" if released else "danger")
            needs = "A second draw needs" if released else "⚠ Needs"
            self._short.setText(f"{needs} ε = {at_most(cost or Decimal(0))}, but {left_words(remaining)}.")
        self.use_rest.setVisible(short and remaining is not None and remaining > 0)
        if remaining is not None:
            self.use_rest.setText(f"Use what remains (ε = {_left(remaining)})")
        self.raise_cap.setVisible(short)


def left_words(remaining: Decimal) -> str:
    """Return what remains of a cap that is too small, as the end of a sentence."""
    return f"only {at_least(remaining)} remain" if remaining > 0 else "nothing is left"


def _left(remaining: Decimal | None) -> str:
    return at_least(max(remaining or Decimal(0), Decimal(0)))


class OutsideCard(Card):
    """What the ε does not cover, one sentence each."""

    def __init__(self) -> None:
        super().__init__(spacing=6)
        self.setObjectName("release_outside")
        self.setAccessibleName("What the guarantee does not cover")
        self._text = label("", wrap=True, name="release_outside_text")
        self.body.addWidget(label("OUTSIDE THE GUARANTEE", "caption"))
        self.body.addWidget(self._text)

    def show_forecast(self, forecast: Forecast | None) -> None:
        """Show the sentences of the forecast."""
        if forecast is None:
            look(self._text, "muted")
            self._text.setText("Listed once the plan is ready.")
        elif forecast.outside:
            look(self._text, "warn")
            self._text.setText("\n".join(f"⚠ {sentence}" for sentence in forecast.outside))
        else:
            look(self._text, "muted")
            self._text.setText("Nothing: every published value goes through a mechanism. The number of rows is public.")


class OnlyModelsCard(Card):
    """What can be released of images, what cannot, and what is left of the budget for it."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("release_of_images")
        self._session = session
        self._facts = Facts()
        for part in (
            label("Only trained networks are released of images", "heading"),
            label(LEAVES, wrap=True, name="release_leaves"),
            label(STAYS, "muted", wrap=True, name="release_stays"),
            self._facts,
        ):
            self.body.addWidget(part)
        session.account_changed.connect(self.refresh)
        session.table_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what is open, and what is left of its budget."""
        images, account = self._session.images, self._session.account
        self.setVisible(images is not None)
        if images is None:
            return
        self._facts.show_line("release_images", "open", f"{images.title}: {images.stated}")
        remaining = account.remaining
        if account.problem:
            stated = account.problem
        elif remaining is None:
            stated = "the first network that is released sets its cap"
        else:
            stated = f"ε = {at_least(max(remaining, Decimal(0)))} for further networks"
        self._facts.show_line("release_images_left", "budget left", stated)
        outside = " ".join(images.outside)
        self._facts.show_line("release_images_outside", "outside the guarantee", outside, "warn")
        if not outside:
            self._facts.hide_line("release_images_outside")


class Sections(QWidget):
    """What is to be decided, and below it what was released before: there may be many."""

    def __init__(self, version: QWidget, published: QWidget, cost: QWidget, outside: QWidget, past: QWidget) -> None:
        super().__init__()
        look(self, "clear")
        self._published, self._cost, self._outside = published, cost, outside
        self._past = look(QWidget(), "clear")
        below = stack(past, None, spacing=0)
        self._past.setLayout(below)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(12)
        self._grid.addWidget(version, 0, 0, 1, 2)
        self._grid.setRowStretch(3, 1)
        self._wide: bool | None = None
        self._arrange(wide=False)

    def show_only_past(self, *, only: bool) -> None:
        """Show what was released before ``only``, where there is no table to release."""
        for part in (self._published, self._cost, self._outside):
            part.setVisible(not only)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Take one column or two."""
        super().resizeEvent(event)
        self._arrange(wide=self.width() >= WIDE)

    def _arrange(self, *, wide: bool) -> None:
        if wide == self._wide:
            return
        self._wide = wide
        for part in (self._published, self._cost, self._outside, self._past):
            self._grid.removeWidget(part)
        self._grid.addWidget(self._published, 1, 0, 3 if wide else 1, 1)
        self._grid.addWidget(self._cost, 1, 1)
        for at, part in ((2, self._outside), (3, self._past)):
            self._grid.addWidget(part, at, 1 if wide else 0, 1, 1 if wide else 2)
        self._grid.setColumnStretch(0, 1 if wide else 3)
        self._grid.setColumnStretch(1, 1 if wide else 2)


def noise_words(forecast: Forecast, rows: int) -> str:
    """Return which columns will be mostly noise, in one sentence; empty where none will."""
    names = noisy_columns(forecast, rows)
    if not names:
        return ""
    if len(names) == len(forecast.columns) > 1:
        return "Every protected column will be mostly noise."
    return f"Mostly noise: {listed(names, MOST_NAMED)}."


def says_little(session: Session, forecast: Forecast | None) -> bool:
    """Return whether most of what would be released is noise: another way is better, or more ε."""
    opened = session.opened
    return opened is not None and forecast is not None and is_mostly_noise(forecast, opened.rows_under(session.plan))


def learn_words(forecast: Forecast, rows: int) -> str:
    """Return what a recipient can learn from the table with about 95 % confidence, in one sentence."""
    found = learnt(forecast, rows)
    means = [_stated(one) for one in found if one.numeric]
    shares = [_stated(one) for one in found if not one.numeric]
    parts = []
    if means:
        parts.append(f"the mean of {_joined(means)}")
    if shares:
        parts.append(f"shares of {_joined(shares)}")
    if not parts:
        return "A recipient can learn next to nothing from this table."
    return f"A recipient can learn {'; '.join(parts)}; little else."


def worth_words(forecast: Forecast, rows: int) -> str:
    """Return both sentences, and how far relations between columns fade."""
    stated = (learn_words(forecast, rows), noise_words(forecast, rows), relations_words(forecast))
    return " ".join(filter(None, stated))


def _stated(one: Learnt) -> str:
    return f"{one.name} to ± {rounded(one.half_length, _KNOWN)}" if one.numeric else f"{one.name} to ± {_points(one)}"


def _points(one: Learnt) -> str:
    return f"{rounded(100 * one.half_length, _KNOWN)} points"


def _joined(stated: Sequence[str]) -> str:
    if len(stated) > MOST_NAMED + 1:
        return f"{', of '.join(stated[:MOST_NAMED])} and of {len(stated) - MOST_NAMED} more"
    return " and of ".join(filter(None, (", of ".join(stated[:-1]), stated[-1])))
