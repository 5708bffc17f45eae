"""Generalise: hierarchies, search, the lattice, before and after, what is certain all the same, and the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.data.schema import QUASI, SENSITIVE
from workbench.gui.pages import page_called
from workbench.gui.pages.generalise import tasks
from workbench.gui.pages.generalise.tasks import Found, Levels
from workbench.gui.pages.generalise.views import (
    NO_HIERARCHY,
    OF_NODES,
    HierarchyEditor,
    LatticeChart,
    TextTable,
    loss_words,
    node_lines,
)
from workbench.gui.pages.run_page import RunPage
from workbench.gui.session.error_text import sentence
from workbench.gui.session.generalise_draft import MORE, POPULATION, TITLES, GeneraliseDraft, Wanted
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import (
    Card,
    badge,
    button,
    empty,
    hold_most,
    label,
    lines,
    panel,
    row,
    say,
    scrolled,
    segments,
    stack,
    views,
)
from workbench.gui.widgets.dialogs import HIERARCHY_FILES, ask_where_to_save, confirm
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.formatting import count, percent
from workbench.gui.widgets.output_name import beside, remember_folder
from workbench.gui.widgets.parameter_form import Form
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable
from workbench.params import WorkbenchError
from workbench.release.ledger.study_note import BEFORE
from workbench.release.statements import PROMISES_NOTHING
from workbench.risk.distances import HIERARCHICAL
from workbench.risk.generalise.generalised import chosen_models
from workbench.risk.generalise.losses import LOSSES
from workbench.risk.generalise.models import Closeness, PrivacyModel, models_of
from workbench.risk.generalise.problem import Asked
from workbench.risk.hierarchies.hierarchy import semicolons

if TYPE_CHECKING:
    from workbench.release.generalised.generalised_file import Published
    from workbench.risk.hierarchies import Builder

LIST_WIDTH, READ_WIDTH, PAD = 340, 1100, 12
HIERARCHIES, LATTICE, TABLE, FAILURES = "hierarchies", "lattice", "table", "failures"
OF_COLUMNS = (
    Column(tr_later("Column"), width=90),
    Column(tr_later("Made by"), width=114),
    Column(
        tr_later("Levels"),
        help=tr_later("The highest level of its hierarchy; before it the level that loses least, once that is found"),
        width=72,
        right=True,
    ),
)
NO_QUASI = tr_later("Say in Data which columns an outsider may know: their role is quasi-identifier.")
AS_THEY_ARE = tr_later("The first rows as they are")
AS_PUBLISHED = tr_later("The same rows as they would be published")
TABLES = tr_later("Tables (*.csv *.csv.gz *.tsv *.xlsx *.parquet *.feather *.jsonl)")


class GeneralisePage(RunPage):
    """What is asked for above; below one of four views."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("generalise"))
        self._levels: dict[str, Levels] = {}
        self._found: Found | None = None
        self._published_as: Path | None = None
        self._searched: object = None
        self._refusal = ""
        self._nothing = EmptyState(session, "generalise_nothing", tr("Nothing to generalise yet"))
        self.form = Form("generalise_form", Wanted, titles=TITLES, across=3)
        self.form.changed.connect(lambda: self._set(self.form))
        self.more = Form("generalise_more", MORE, titles=TITLES, across=3)
        self.more.changed.connect(lambda: self._set(self.more))
        self._unfolded = False
        self._fold = button("", "generalise_fold", "link", press=self._turn_fold)
        self._problem = label("", "problem", wrap=True, name="generalise_problem")
        self._said = label("", wrap=True, name="generalise_said")
        self._badge = badge()
        spoken = tr("The columns that an outsider may know")
        self.columns = LinesTable(session, "generalise_columns", spoken, OF_COLUMNS)
        self.columns.selectionModel().currentRowChanged.connect(lambda _now, _former: self._show_column())
        self.editor = HierarchyEditor(session)
        self.editor.wanted.connect(self._make)
        self.editor.saved.connect(self._write)
        self.chart = LatticeChart(session)
        self.nodes = LinesTable(session, "generalise_nodes", tr("The best nodes"), OF_NODES, private=True)
        self._levels_of = label("", "muted", wrap=True, name="generalise_levels_of")
        self.before = TextTable(session, "generalise_before", tr(AS_THEY_ARE))
        self.after = TextTable(session, "generalise_after", tr(AS_PUBLISHED))
        self._failures = stack(spacing=4)
        asked = Card(self.form, row(self._fold, None), self.more, self._problem, pad=PAD)
        self._whole = panel(stack(asked, self._card(), spacing=12))
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._whole, 1)
        self._make_foot()
        session.table_changed.connect(self._forget)
        session.table_changed.connect(self.in_sight(self._start_over, whole=True))
        session.plan_changed.connect(self.in_sight(self._follow))
        session.account_changed.connect(self.in_sight(self.refresh))
        session.generalise_changed.connect(self.in_sight(self._show_draft))
        self._start_over()

    def _make_foot(self) -> None:
        cancel = button(tr("Cancel"), "generalise_cancel", tip=tr("Stop (Esc)"))
        self.set_run(tr("Search"), "generalise_run", tr("Look for the levels that lose least (Ctrl+Return)"), cancel)
        tip = tr("Write what each value of the column became; private")
        self._mapping = button(tr("Mapping…"), "generalise_mapping", tip=tip, press=self._write_mapping)
        tip = tr("See what an attacker gets from the published table")
        self._attack = button(tr("Attack it →"), "generalise_attack", tip=tip, press=self._to_attack)
        tip = tr("Publish the table with a certificate that promises nothing")
        self._onward = button(tr("Release…"), "generalise_release", "primary", tip=tip, press=self._release)
        for part in (self._mapping, self._attack, self._onward):
            self.foot.addWidget(part)

    def _card(self) -> Card:
        nodes = panel(stack(self._levels_of, (self.nodes, 1), spacing=4))
        pairs = (
            (self.columns, self.editor),
            (nodes, self.chart),
            (_under(AS_THEY_ARE, self.before), _under(AS_PUBLISHED, self.after)),
        )
        for listed in (self.columns, nodes):
            hold_most(listed, LIST_WIDTH)  # large text takes from the list before the page is scrolled sideways
        read = panel(self._failures)
        hold_most(read, READ_WIDTH)
        failures = scrolled(row((read, 1000), None), "generalise_failures")
        titles = (
            (HIERARCHIES, tr("Hierarchies"), tr("What the values of each column become")),
            (LATTICE, tr("Lattice"), tr("The nodes that the search looked at")),
            (TABLE, tr("Before and after"), tr("The first rows")),
            (FAILURES, tr("What it reveals"), tr("What is certain all the same, and what ε would allow")),
        )
        self._segments = segments(self, "generalise_view_", titles, lambda _key: self._show_view())
        self._views = views(*(panel(lines((left, 1), (right, 1), spacing=16)) for left, right in pairs), failures)
        self._segments[HIERARCHIES].setChecked(True)
        return Card(self._said, row(*self._segments.values(), None, self._badge, spacing=4), (self._views, 1), pad=PAD)

    def resized(self) -> None:
        """Let tables that have no room beside one another be below one another."""
        for table in (self.columns, self.editor.levels, self.nodes, self.before, self.after):
            table.most_asked = self.room - 2 * PAD
            table.updateGeometry()

    # -- what is asked ------------------------------------------------------------------------------------------------

    def _names(self, role: str) -> tuple[str, ...]:
        if self.session.opened is None:
            return ()
        return tuple(c.name for c in self.session.plan.columns if c.role == role)

    @property
    def asked(self) -> Asked:
        """Which columns are what, by their roles in the plan; what is predicted is sensitive, too."""
        quasi, target = self._names(QUASI), self.session.target
        more = () if target is None or target in quasi else (target,)
        return Asked(quasi, tuple(dict.fromkeys((*self._names(SENSITIVE), *more))), target)

    def missing(self) -> str:
        if self.session.opened is None:
            return tr("Open a table in Data first.")
        return "" if self._names(QUASI) else tr(NO_QUASI)

    def value(self) -> Wanted | None:
        """Return what is asked for, or ``None`` while a field is refused; the reason is below it."""
        wanted = self.form.value()
        stated = ""
        if isinstance(wanted, Wanted) and self.more.value() is not None:
            try:
                models = chosen_models(self._models())
                needs = {model.needs: tr_sentence(model.title) for model in reversed(models)}
                if "sensitive" in needs and not self.asked.sensitive:
                    one = needs["sensitive"]
                    stated = tr("{condition} is about a sensitive column: give one that role in Data.", condition=one)
                elif "population" in needs and self._people is None:
                    one = needs["population"]
                    stated = tr("{condition} needs a table of the population: choose one.", condition=one)
                elif bare := self._without_hierarchy(models):
                    stated = tr("The distance hierarchical needs a hierarchy of {column}: make one below.", column=bare)
                elif wanted.loss == "classification" and self.session.target is None:
                    stated = tr("The loss classification predicts a column: choose it in Data.")
            except WorkbenchError as error:
                stated = sentence(error)
        shown = stated or (self._refusal if self._searched == self._present() else "")
        say(self._problem, shown)
        return wanted if isinstance(wanted, Wanted) and self.more.value() is not None and not stated else None

    def _models(self) -> tuple[PrivacyModel, ...]:
        """Return every model with what its fields say, none of which is refused."""
        return models_of(vars(self.form.value()) | vars(self.more.value()))

    def _without_hierarchy(self, models: Sequence[PrivacyModel]) -> str:
        """Return a sensitive column that a distance needs a hierarchy of; empty where none does."""
        wanted = any(isinstance(model, Closeness) and model.distance == HIERARCHICAL for model in models)
        return next((name for name in self.asked.sensitive if wanted and name not in self._in_use), "")

    def _turn_fold(self) -> None:
        self._unfolded = not self._unfolded
        self.refresh()

    def _show_fold(self) -> None:
        """Show the other conditions where they are unfolded or one is refused, else how many there are."""
        given = self.more.value()
        shown = self._unfolded or given is None
        number = 0 if given is None else sum(model.asked for model in models_of(vars(given)))
        title = tr("More conditions ({number})", number=tr_number(number, ",")) if number else tr("More conditions")
        self._fold.setText(f"{title} {'▾' if shown else '▸'}")
        self.more.setVisible(shown)

    def _present(self) -> object:
        levels = {name: id(one.hierarchy) for name, one in self._in_use.items()}
        return self.form.value(), self.more.value(), self.asked, levels

    # -- hierarchies --------------------------------------------------------------------------------------------------

    @property
    def _draft(self) -> GeneraliseDraft:
        return self.session.generalised or GeneraliseDraft()

    @property
    def _people(self) -> str | None:
        chosen: str | None = getattr(self._draft.more, POPULATION)
        return chosen

    @property
    def _in_use(self) -> dict[str, Levels]:
        """The hierarchies that a search takes: a sensitive column has one only where a person chose it."""
        asked = self.asked
        return {
            name: one
            for name, one in self._levels.items()
            if name in asked.quasi or (name in asked.sensitive and name in self._draft.hierarchies)
        }

    def _to_make(self) -> dict[str, Builder | Path | None]:
        """Return what is not made yet, or was made in another way than the one that is chosen now."""
        chosen, levels, people = self._draft.hierarchies, self._levels, self._people
        wanted = [*self.asked.quasi, *(name for name in self.asked.sensitive if name in chosen)]
        made = {name for name, one in levels.items() if (one.chosen, one.people) == (chosen.get(name), people)}
        return {name: chosen.get(name) for name in wanted if name not in made}

    def _follow(self) -> None:
        new = self._to_make()
        if new and self.session.opened is not None:
            refuse = None if self._people is None else self.editor.refuse_error
            tasks.make(self.session, self.jobs, new, self._people, self._take_levels, kept=True, on_failure=refuse)
        self.refresh()

    def _take_levels(self, levels: dict[str, Levels]) -> None:
        refused = {name: one.refused for name, one in levels.items() if one.refused is not None}
        for name, error in refused.items():
            said = tr("The hierarchy of {name} is not the one that was chosen: {why}", name=name, why=sentence(error))
            self.session.notify("warning", said)
        self._levels |= levels
        if refused:
            self._keep("", hierarchies={n: way for n, way in self._draft.hierarchies.items() if n not in refused})
        self.refresh()

    def _take_chosen(self, levels: dict[str, Levels]) -> None:
        """Take hierarchies that the person asked for; those that the values suggest are made anew each time."""
        former = self._draft.hierarchies
        self._levels |= levels
        for name, one in levels.items():
            same = one.way is not None and type(former.get(name)) is type(one.way)
            words = tr("change the hierarchy of {name}", name=name)
            self._keep(words, f"generalise/of {name}" if same else "", hierarchies={**former, name: one.chosen})
        self.refresh()

    def _set(self, form: Form) -> None:
        """Keep the settings, unless one is refused, as a step that can be undone."""
        settings, more = self.form.value(), self.more.value()
        if settings is not None and more is not None:
            former = vars(self._draft.settings) | vars(self._draft.more)
            now = vars(settings) | vars(more)
            for key in (key for key in vars(form.value()) if now[key] != former[key]):
                field = form.field(key)
                merge = f"generalise/{key}" if isinstance(field, QLineEdit) else ""
                self._keep(tr("change {title}", title=field.accessibleName()), merge, settings=settings, more=more)
        self.refresh()

    def _keep(self, step: str, merge: str = "", **changes: object) -> None:
        draft = replace(self._draft, **changes)  # type: ignore[arg-type]
        self.session.draft_generalise(None if draft == GeneraliseDraft() else draft, step, merge)

    def _show_draft(self) -> None:
        """Show what is set now, after an undo, too."""
        for form, value in ((self.form, self._draft.settings), (self.more, self._draft.more)):
            if form.value() != value:
                form.set_value(value)
        self._follow()

    def _selected(self) -> str:
        chosen = self.columns.currentIndex().siblingAtColumn(0).data()
        return str(chosen) if chosen is not None else next(iter(self.asked.quasi), "")

    def _show_column(self) -> None:
        name = self._selected()
        self.editor.show_column(name, self._in_use.get(name), optional=name in self.asked.sensitive)

    def _make(self, way: Builder | Path | None) -> None:
        name = self._selected()
        if way is None:
            left = {n: one for n, one in self._draft.hierarchies.items() if n != name}
            self._keep(tr("change the hierarchy of {name}", name=name), hierarchies=left)
        else:
            refuse = self.editor.refuse_error
            tasks.make(self.session, self.jobs, {name: way}, self._people, self._take_chosen, on_failure=refuse)

    def _write(self, path: Path) -> None:
        text, said = self._in_use[self._selected()].hierarchy.to_text, tr("The hierarchy is in {path}.", path=str(path))
        tasks.write(self.session, self.jobs, path, text, tr("Writing a hierarchy"), said)

    def _write_mapping(self) -> None:
        assert self._found is not None
        made, name = self._found.made, self._selected()
        place = str(Path(self.session.folder, f"{name}-mapping.csv"))
        path = ask_where_to_save(self, tr("Save what the values became"), place, HIERARCHY_FILES)
        if path:
            said = tr("What the values became is in {path}: it is private.", path=path)
            text, title = lambda: semicolons(made.mapping(name)), tr("Writing a mapping")
            tasks.write(self.session, self.jobs, Path(path), text, title, said)

    # -- search and release -------------------------------------------------------------------------------------------

    def start(self) -> None:
        wanted = self.value()
        if wanted is None or not private_figures.may_show(self, self.session):
            return
        self._searched, self._refusal = self._present(), ""
        levels = {name: one.hierarchy for name, one in self._in_use.items()}
        wish = tasks.Wish(self.asked, levels, self._models(), wanted.how, self._people)
        self.follow(tasks.search(self.session, self.jobs, wish, on_result=self._take, on_failure=self._refused))

    def _take(self, found: Found) -> None:
        self._found, self._published_as = found, None
        self._show()
        self._segments[TABLE].click()
        self.refresh()

    def _refused(self, error: BaseException) -> None:
        self._found = None
        self._refusal = self.session.worded(error)
        self._show()
        self.refresh()

    def _release(self) -> None:
        """Ask once, then where to; the file dialog asks whether an existing file is replaced."""
        assert self._found is not None
        if not confirm(self, tr("Publish this table?"), tr_sentence(PROMISES_NOTHING), tr("Publish")):
            return
        place = str(beside(self.session.open_table, "generalised", ".csv"))
        path = ask_where_to_save(self, tr("Publish the table as"), place, TABLES)
        if path:
            remember_folder(Path(path).parent)
            tasks.publish(self.session, self.jobs, self._found.made, Path(path), self._published)

    def _published(self, done: Published) -> None:
        said = tr("The generalised table is in {path}, its certificate beside it; no ε was charged.", path=done.output)
        self.session.notify("info", said)
        self._published_as = done.output
        self.session.to_attack.make(done.output)  # the ledger lists no release of it that the page could offer
        self.refresh()

    def _to_attack(self) -> None:
        assert self._published_as is not None
        self.session.to_attack.make(self._published_as)
        self.session.go("attack")

    # -- what is shown ------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        missing = self.missing()
        self._nothing.setVisible(bool(missing))
        self._nothing.say(missing)
        self._whole.setVisible(not missing)
        self._show_fold()
        wanted = None if missing else self.value()
        ready = wanted is not None and not self._to_make()
        done = self._found is not None and self._searched == self._present()
        self.show_buttons(missing, ready=ready, done=done)
        self._run_button.setVisible(not missing and not self.running)  # the empty page has its own way on
        self._mapping.setVisible(done and not self.running)
        self._attack.setVisible(done and not self.running and self._published_as is not None)
        self._show_columns()
        note = ""
        if self._found is not None and not done and not self.running and not missing:
            note = tr("These results are for other settings: press Search to update them.")
        elif done and not missing:
            note = tr("Not differential privacy: look at what it reveals.")
        elif private_figures.is_first(self.session) and not missing:
            note = tr_sentence(BEFORE)
        self.set_note(note)

    def _show_columns(self) -> None:
        quasi, found = self.asked.quasi, self._found
        lines = []
        for name in (*quasi, *self.asked.sensitive):
            levels, known = self._in_use.get(name), name in quasi
            waits = known or name in self._draft.hierarchies
            by = "…" if waits else tr(NO_HIERARCHY)
            if levels is not None:
                by = tr("a file") if levels.way is None else tr_sentence(levels.way.title)
            level = None if found is None else found.made.levels.get(name)
            stated = "" if level is None else str(level) if isinstance(level, int) else f"{level[0]}–{level[1]}"
            height = "" if levels is None else str(levels.hierarchy.height)
            if stated:
                height = tr("{level} of {highest}", level=stated, highest=height)
            tip = name if known else tr("{name}: sensitive", name=name)
            look = "" if known else "muted"
            lines.append((Cell(name, look, tip), Cell(by, look), Cell(height)))
        at = max(self.columns.currentIndex().row(), 0)
        self.columns.lines.show_lines(lines, same=True)
        self.columns.make_room()
        if lines and not self.columns.currentIndex().isValid():
            self.columns.selectRow(min(at, len(lines) - 1))  # and so its hierarchy is shown
        else:
            self._show_column()

    def _show_view(self) -> None:
        self._views.setCurrentIndex([segment.isChecked() for segment in self._segments.values()].index(True))

    def _show(self) -> None:
        found = self._found
        for name, segment in self._segments.items():
            segment.setVisible(found is not None or name == HIERARCHIES)
        if found is None:
            self._segments[HIERARCHIES].setChecked(True)
        self._show_view()
        self._badge.setVisible(found is not None)
        self._said.setText(_invitation() if found is None else _said(found))
        self.chart.show_made(None if found is None else found.made)
        best = [] if found is None else node_lines(found.made)
        quasi = " · ".join(self.asked.quasi if found is None else found.made.asked.quasi)
        say(self._levels_of, tr("Levels of {columns}", columns=quasi) if best else "")
        self.nodes.lines.show_lines(best)
        numbers = self.session.plan.numeric
        for table, rows in ((self.before, "before"), (self.after, "after")):
            table.show_rows(*(((), ()) if found is None else (found.header, getattr(found, rows), numbers)))
        empty(self._failures)
        for at, (text, kind) in enumerate(_failure_lines(found)):
            self._failures.addWidget(label(text, kind, wrap=True, name=f"generalise_failure_{at}"))
        self._failures.addStretch(1)

    def retranslate(self) -> None:
        self._show()
        self.refresh()

    def _forget(self) -> None:
        self.forget()
        self._levels, self._found, self._searched, self._published_as = {}, None, None, None

    def _start_over(self) -> None:
        self._show()
        self._show_draft()


def _under(heading: str, table: QWidget) -> QWidget:
    return panel(stack(label(tr(heading), "muted"), table, spacing=4))


def _invitation() -> str:
    return tr(
        "Search looks for the level of each hierarchy that loses least and still puts every row into a class of k. "
        "It shows private figures and spends no ε."
    )


def _said(found: Found) -> str:
    made = found.made
    stated_losses = [(one.title, made.losses[one.name]) for one in LOSSES if one.name in made.losses]
    losses = "; ".join(f"{tr_sentence(title)} {loss_words(value)}" for title, value in stated_losses)
    stated = tr(
        "{rows} in {classes} of at least {k}; {gone} left out ({share}).",
        rows=count(int(made.outcome.sizes.sum()), "row"),
        classes=count(len(made.outcome.sizes), "class", "classes"),
        k=tr_number(made.k, ","),
        gone=count(made.outcome.suppressed, "row"),
        share=percent(made.outcome.suppressed / made.problem.rows),
    )
    said = [stated, tr("Loss: {losses}.", losses=losses)]
    if (score := found.accuracy) is not None:
        right = {"after": percent(score.after), "before": percent(score.before), "guess": percent(score.guess)}
        said.append(
            tr("A classifier is right for {after} of them, {before} from the original, {guess} by a guess.", **right)
        )
    return " ".join(said)


def _failure_lines(found: Found | None) -> list[tuple[str, str]]:
    """Return what is certain all the same, and below each what a release with ε would allow and what it gives."""
    if found is None:
        return []
    if not found.failures:
        return [(tr("Give a column the role sensitive in Data, to see what is certain of it all the same."), "muted")]
    lines = []
    for failure in found.failures:
        lines.append((tr_sentence(failure.sentence), "danger" if failure.rows else ""))
        if failure.instead:
            lines.append((f"{tr_sentence(failure.instead)} {tr_sentence(failure.reached)}", "muted"))
    return lines
