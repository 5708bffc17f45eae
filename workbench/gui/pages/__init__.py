"""Every page of the window: rooms in the order of the rail, tabs in the order of this list.

A new page is its folder and an entry of the list. A folder has in its ``page.py`` a subclass of
:class:`workbench.gui.pages.base.PageFrame`, which is imported once the window has been painted::

    class LedgerPage(PageFrame):
        \"\"\"…\"\"\"

        def __init__(self, session: Session, jobs: JobCenter) -> None:
            super().__init__(session, jobs, page_called("ledger"))
            self.body.addWidget(Card(label("…")))
            self.set_primary("Verify", "ledger_verify", self._verify)
            session.account_changed.connect(self.refresh)

        def _verify(self) -> None:
            verify_ledger(self.session, self.jobs)  # from ledger/tasks.py

The list is imported before the window's first paint, so it imports neither polars, numpy nor any engine. A page is a
thin view over the session: it edits through ``session.edit…``, starts work through its ``tasks``, and follows
signals; it does no arithmetic on data, opens no file and starts no thread. No page imports another: what two of them
need is a widget, a part of the session, or in the engine.
"""

from __future__ import annotations

from workbench.data.schema import QUASI
from workbench.gui.pages.base import ROOMS, Page
from workbench.gui.pages.release_account import plan_is_short
from workbench.gui.pages.run_page import has_run
from workbench.gui.session.blocking import blocks
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import tr_later


def _facts_are_declared(session: Session) -> State:
    if session.images is not None:
        return "ready"
    if session.opened is None:
        return "empty"
    return "needs" if blocks(session.opened, session.plan) else "ready"


def _plan_is_made(session: Session) -> State:
    if session.opened is None:
        return "empty"
    return "ready" if session.plan.ready and session.plan.protected else "needs"


def _is_released(session: Session) -> State:
    if session.opened is None:
        return "empty"
    if any(not step.model for step in session.released):
        return "ready"
    return "needs" if plan_is_short(session) else "empty"


def _is_trained(session: Session) -> State:
    if has_run(session, "fit", "dpsgd"):
        return "ready"
    cost = session.model_cost
    return "empty" if cost is None or session.account.refusal(*cost) is None else "needs"


def _is_known(session: Session) -> State:
    """Return ``ready`` where some column is one that an outsider may know."""
    named = session.opened is not None and any(c.role == QUASI for c in session.plan.columns)
    return "ready" if named else "empty"


PAGES: tuple[Page, ...] = (
    Page(
        name="questions",
        title=tr_later("Questions"),
        room="data",
        help=tr_later(
            "Say who gets the release, which columns they need and what they will ask of it: the plan follows"
        ),
        topic="plan",
        known_as="recipient, columns needed, wishes, purpose, who gets it",
        state=lambda session: "ready" if session.opened is not None and session.questions.needed else "empty",
        about=tr_later(
            "Three answers make the plan. Who gets the release sets the range of ε. Columns that they do not need are "
            "not released and cost nothing. What they will ask decides the way to release. Each answer is first "
            "suggested from the names, kinds and counts of the columns; you can change any of them later, and undo "
            "the change."
        ),
        keys=tr_later(
            "Space ticks a column, or all that are selected; Shift+click on a box ticks a range. Ctrl+F filters by "
            "name; a click on a heading, or Alt+S, sorts."
        ),
    ),
    Page(
        name="data",
        title=tr_later("Columns"),
        room="data",
        home=True,
        help=tr_later("Open a table and declare what is publicly known about its attributes"),
        topic="bounds",
        known_as="bounds domains dictionary rows per person how it is read join",
        state=_facts_are_declared,
        about=tr_later(
            "Open a table and declare what is public about each attribute: its kind, its bounds or its list of "
            "values, and how missing values are treated. A release hides each row within these public facts, so they "
            "must not be taken from the rows."
        ),
        keys=tr_later(
            "Tab moves to the next fact, Return edits it. Ctrl+V pastes a block from a spreadsheet from the current "
            "cell on, Ctrl+D copies the current cell to all selected columns. Select a name with ⚠ to see the "
            "reason below the table. Shift+click, Ctrl+click and Ctrl+A select several columns, and an edit then "
            "changes all of them. Ctrl+F filters by name; a click on a heading, or Alt+S, sorts the view."
        ),
    ),
    Page(
        name="risk",
        title=tr_later("Risk"),
        room="data",
        help=tr_later("Who could be found in the table by what an outsider knows, and which columns make rows unique"),
        topic="risk",
        known_as="k-anonymity l-diversity t-closeness uniqueness SUDA HIPAA prosecutor journalist marketer",
        state=_is_known,
        about=tr_later(
            "Tick what an outsider may know about a person (quasi-identifiers), and what nobody must learn (sensitive "
            "columns). The figures follow at once: unique rows, the chance that somebody is found, how much a class "
            "of rows that look alike gives away. Open a released file as a table to see the same figures for it. "
            "Removing names and grouping values lowers these figures, and none of them is a guarantee: only ε is."
        ),
        keys=tr_later("Space ticks a column as known, or all that are selected. Ctrl+Return shows the figures."),
    ),
    Page(
        name="ways",
        title=tr_later("Decide"),
        room="release",
        help=tr_later("How well each way to release answers what recipients will ask, at each ε; release from here"),
        topic="ways",
        known_as="what to release ways",
        state=lambda session: "ready" if session.opened is not None and session.plan.ready else "empty",
        about=tr_later(
            "Each row is a question that recipients will ask, each column a way to release. A cell shows how close to "
            "the truth the answer will be at the chosen ε, with ✓ where that is close enough. The marks follow from "
            "the declared facts and the number of rows; no row is read. Show the truth draws once from the rows, "
            "and what it shows is private."
        ),
        keys=tr_later(
            "Click a heading, or press Return in a cell, to choose a way. Press F2 in “within” to type how close an "
            "answer must be. Ctrl+Return releases, after you confirm. Esc stops a private draw."
        ),
    ),
    Page(
        name="protect",
        title=tr_later("Columns"),
        room="release",
        help=tr_later("Choose how each attribute is protected and how ε is split over them"),
        topic="plan",
        known_as="protect mechanisms",
        state=_plan_is_made,
        about=tr_later(
            "Choose how each attribute is protected and how much of the budget ε it gets. A larger share makes it "
            "more accurate and less private. The error beside it says how far off a released value will be on "
            "average."
        ),
        keys=tr_later(
            "Space locks a share; the others divide the rest. A kept attribute is published unchanged. Shift+click, "
            "Ctrl+click and Ctrl+A select several columns, and an edit then changes all of them. Ctrl+F filters by "
            "name; a click on a heading, or Alt+S, sorts the view."
        ),
    ),
    Page(
        name="preview",
        title=tr_later("Rows"),
        room="release",
        help=tr_later("See one draw of the plan beside the original: private, free and never released"),
        topic="release",
        known_as="preview correlation marginals",
        state=lambda session: "ready" if session.opened and session.plan.ready and session.plan.protected else "empty",
        about=tr_later(
            "See one draw of the plan beside the original, the distribution of each attribute, and what is left of "
            "the correlations. Previews spend no budget and are never released; a release always draws new noise."
        ),
        keys=tr_later("Arrow keys move through the rows and the pairs. Private rows cannot be copied from here."),
    ),
    Page(
        name="release",
        title=tr_later("Settings"),
        room="release",
        make="workbench.gui.pages.release.page:SettingsPage",
        help=tr_later("Exactly what the chosen way releases, what it costs, and what ε does not cover"),
        topic="certificate",
        known_as="noisy rows synthetic rows statistics",
        state=_is_released,
        about=tr_later(
            "The settings of the chosen way: noisy rows, synthetic rows, statistics or another kind. Release asks "
            "once. Then the whole cost is charged to the ledger, new noise is drawn from the system's random "
            "generator, and the files appear together or not at all. To release the same plan again costs again; to "
            "copy the files is free."
        ),
        keys=tr_later("Ctrl+Return releases, after you confirm. Esc cancels what is running."),
    ),
    Page(
        name="generalise",
        title=tr_later("Generalise"),
        room="release",
        help=tr_later("Make a table k-anonymous by hierarchies, see what it still reveals, and publish it without ε"),
        topic="generalise",
        known_as="k-anonymity l-diversity t-closeness hierarchy suppression lattice ARX generalize",
        state=_is_known,
        about=tr_later(
            "Each column that an outsider may know gets a hierarchy: what its values become, level by level. Search "
            "finds the levels that lose least and still put every row into a class of k. The result is not "
            "differential privacy: the page counts what is certain in it all the same, and a release with ε beside "
            "it. Its file has a certificate that says so, and it costs no ε, because nothing is promised."
        ),
        keys=tr_later("Ctrl+Return searches, Esc stops the search."),
    ),
    Page(
        name="train",
        title=tr_later("Train"),
        room="models",
        help=tr_later("Train a private model or network, see what it costs before it starts, and release it"),
        topic="learners",
        known_as="learner network DP-SGD resume",
        state=_is_trained,
        about=tr_later(
            "Train a private model. Its cost, noise, steps and memory are shown before it starts. The budget is "
            "charged first, and training stops before it would exceed the cap."
        ),
        keys=tr_later("The metrics of a run are private; only the finished model is released."),
    ),
    Page(
        name="utility",
        title=tr_later("Curves"),
        room="models",
        help=tr_later("How well models predict against ε: without privacy, on a sanitised table, with a private model"),
        topic="curves",
        known_as="utility accuracy against epsilon",
        state=lambda session: "ready" if has_run(session, "curve") else "empty",
        about=tr_later(
            "Compare how well a model predicts without privacy, trained on a sanitised table, and with privacy built "
            "in, for a range of ε. The bands show how sure each mean is (one standard error)."
        ),
        keys=tr_later(
            "Arrow keys move from point to point, Return puts a point's ε into the plan, Ctrl+C copies the picture."
        ),
    ),
    Page(
        name="compare",
        title=tr_later("Compare"),
        room="models",
        help=tr_later("All studies of this session and all released models, side by side and drawn together"),
        topic="curves",
        state=lambda session: "ready" if has_run(session, "curve", "fit", "dpsgd") else "empty",
        about=tr_later(
            "Each line of the table is one way of training from a study of this session, or a model that was "
            "released. Tick up to seven lines to draw them together. The bands show how sure each mean is (one "
            "standard error)."
        ),
        keys=tr_later(
            "Space ticks a line, Alt+S sorts by the current column, Ctrl+F filters, Ctrl+C copies the selected lines, "
            "or the picture where it has the keyboard; in the picture the arrow keys move and Return takes a point's "
            "ε."
        ),
    ),
    Page(
        name="predict",
        title=tr_later("Predict"),
        room="models",
        help=tr_later("Apply a released model to the table that is open, or a network to images"),
        topic="models",
        known_as="prediction apply a model",
        about=tr_later(
            "A released model predicts each row of the open table, or each of your images if it is a network. That "
            "costs nothing, because the model was paid for when it was released, or was trained on a released "
            "table alone. The predictions follow from the rows or the images, so they are as private as "
            "these."
        ),
        keys=tr_later("Ctrl+Return predicts."),
    ),
    Page(
        name="why",
        title=tr_later("Where accuracy goes"),
        room="models",
        under="utility",
        help=tr_later("Where a private model loses accuracy, and what would help most"),
        topic="curves",
        known_as="why it costs where accuracy goes",
        state=lambda session: "ready" if has_run(session, "why") else "empty",
        about=tr_later(
            "The same rows are trained without privacy, clamped to the declared bounds, with the private model but "
            "without its noise, and with it: each difference says what that step costs. Then one thing is changed at "
            "a time (twice the ε, twice the rows, half of the attributes, tighter bounds) to see what would help "
            "most. It spends none of the budget, because none of it is released; made-up rows describe no real "
            "person and may be shown."
        ),
        keys=tr_later("Ctrl+Return runs the study, Esc stops it."),
    ),
    Page(
        name="memory",
        title=tr_later("Memory"),
        room="models",
        under="train",
        help=tr_later("How much memory training needs, by phase, and how many rows fit at once"),
        topic="networks",
        known_as="memory study",
        about=tr_later(
            "Choose networks, batches and hidden units, and see what training takes in each phase: the model, a "
            "batch, the backward pass and the step. It is worked out from shapes: no data is read and nothing is "
            "charged. The table also shows how many rows fit at once."
        ),
        keys=tr_later(
            "Ctrl+Return computes, Esc stops it, Ctrl+C copies the selected lines, or the picture where it has the "
            "keys."
        ),
    ),
    Page(
        name="released",
        title=tr_later("Releases"),
        room="released",
        help=tr_later("Everything that was released from any table: its files, their verification and documents"),
        topic="certificate",
        known_as="verify certificate documents bundle paused runs",
        state=lambda session: (
            "ready" if session.released or session.account.past or session.account.generalised else "empty"
        ),
        about=tr_later(
            "Every release that the ledger of this computer knows, the newest first, with its files where they still "
            "are. Select one to verify it, to save its certificate or a whole bundle, to open it as a table, or to "
            "see what a recipient can estimate from it. Nothing here costs anything."
        ),
        keys=tr_later(
            "Up and Down select a release, Ctrl+F filters, Ctrl+C copies the selected lines. Verify recomputes every "
            "checksum of a release and compares it with the certificate."
        ),
    ),
    Page(
        name="attack",
        title=tr_later("Attack"),
        room="released",
        help=tr_later("What an attacker can learn about a person from a release or a model"),
        topic="attacks",
        known_as="attack singling out linkability inference reconstruction membership anonymeter",
        state=lambda session: "ready" if has_run(session, "attack") else "empty",
        about=tr_later(
            "Attacks on a release or a model, measured by how often they are right: about people in the release, "
            "about people who are not in it (the control set), and compared with a guess without the release. "
            "Beside them is the most that the ε of the release allows. Attacks cost no budget. Their results are "
            "private, because they are computed from the original rows."
        ),
        keys=tr_later("Ctrl+Return attacks, Esc stops it; Ctrl+C copies the selected lines."),
    ),
    Page(
        name="estimate",
        title=tr_later("Estimates"),
        room="released",
        help=tr_later("What a released table says about the original: figures with intervals"),
        topic="release",
        about=tr_later(
            "Means, shares, quantiles and correlations of the original table, estimated from a released file and its "
            "certificate alone: no ledger is needed, and nothing is charged. Every figure has an interval that says "
            "how much the noise leaves open."
        ),
        keys=tr_later("Ctrl+Return estimates; Ctrl+C copies the selected rows of a table."),
    ),
    Page(
        name="ledger",
        title=tr_later("Ledger"),
        room="released",
        help=tr_later("Every release of every table, the caps and the remaining budget"),
        topic="ledger",
        known_as="budget history cap",
        about=tr_later(
            "Every charge for every table on this computer. A table is recognised by its content, so a copy or a "
            "renamed file is the same table. Verify shows whether any entry was altered or removed."
        ),
        keys=tr_later("Ctrl+C copies the selected rows."),
    ),
    Page(
        name="calculator",
        title=tr_later("Calculator"),
        room="tools",
        help=tr_later("What training a network would cost, and how ε depends on rows, batch, noise, epochs and δ"),
        topic="epsilon",
        known_as="budget calculator",
        about=tr_later(
            "Move a slider to see what a run of DP-SGD would cost. No table is read and nothing is charged: ε follows "
            "from public figures alone. Each chart shows ε against one figure, all others as set, by three "
            "accountants; the lowest line is the one that counts."
        ),
        keys=tr_later("Arrow keys move a slider, Page Up and Page Down in larger steps."),
    ),
    Page(
        name="rappor",
        title=tr_later("RAPPOR"),
        room="tools",
        help=tr_later("Collect a column as noisy reports of single clients, and find out which values occur"),
        topic="rappor",
        known_as="simulation",
        state=lambda session: "ready" if any(step.central == "rappor" for step in session.released) else "empty",
        about=tr_later(
            "RAPPOR collects one value from each client as a vector of random bits, and decodes which values are "
            "frequent. Move the parameters and see what a report costs and what can be detected; simulate for free; "
            "or release the reports of a column, which is charged first."
        ),
        keys=tr_later("Ctrl+Return simulates. Esc cancels what is running."),
    ),
    Page(
        name="explain",
        title=tr_later("What ε means"),
        room="tools",
        help=tr_later("How much anyone can learn at an ε, what others have published, and which one to start with"),
        topic="epsilon",
        known_as="explain epsilon delta belief",
        about=tr_later(
            "What ε and δ say about one person, with tables that follow the ε at the top: beliefs, an insurer, "
            "several releases, several rows of one person, who has to be trusted, and why k-anonymity is no "
            "guarantee. Three questions lead to a range of ε to start with. Nothing on this page reads the table or "
            "costs anything."
        ),
        keys=tr_later("The slider and the field at the top change ε. Ctrl+E explains the plan's ε beside any page."),
    ),
    Page(
        name="help",
        title=tr_later("Help"),
        room="tools",
        help=tr_later(
            "Which way to release, why bounds must be public, what a certificate says, and every other topic"
        ),
        topic="window",
        about=tr_later(
            "Every topic of the help, the same text as “workbench help TOPIC” prints. Type words to find the topics "
            "that contain all of them. F1 says beside any page what that page is for, and leads here."
        ),
        keys=tr_later("Up and Down choose a topic while you type."),
    ),
)


def page_called(name: str) -> Page:
    """Return the page that is called so."""
    return next(page for page in PAGES if page.name == name)


__all__ = ["PAGES", "ROOMS", "page_called", tr_later("Page")]
