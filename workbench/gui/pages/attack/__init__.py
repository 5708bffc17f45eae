"""The Attack page: what an attacker gets from a release or a model, beside a guess, strangers, and what ε allows."""

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.style.language import tr_later

RUN = "attack"


PAGE = Page(
    name="attack",
    title=tr_later("Attack"),
    room="released",
    help=tr_later("What an attacker learns of a person from a release or a model"),
    make="workbench.gui.pages.attack.page:AttackPage",
    topic="attacks",
    known_as="attack singling out linkability inference reconstruction membership anonymeter",
    state=lambda session: "ready" if has_run(session, RUN) else "empty",
    about=tr_later(
        "Attacks on a release or a model, measured by how often they are right: about people who were released, about "
        "people who were not (the control set), and by a guess without the release. Beside them is the most that the ε "
        "of the release allows. It costs nothing, and is private: it is computed from the original rows."
    ),
    keys=tr_later("Ctrl+Return attacks, Esc stops it; Ctrl+C copies the selected lines."),
)
