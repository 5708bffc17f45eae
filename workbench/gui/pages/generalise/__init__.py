"""The Generalise page: a table made k-anonymous and the like, and what it still reveals."""

from workbench.gui.pages.base import Page
from workbench.gui.pages.risk import known
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="generalise",
    title=tr_later("Generalise"),
    room="release",
    help=tr_later("Make a table k-anonymous by hierarchies, see what it still reveals, and publish it without ε"),
    make="workbench.gui.pages.generalise.page:GeneralisePage",
    topic="generalise",
    known_as="k-anonymity l-diversity t-closeness hierarchy suppression lattice ARX generalize",
    state=known,
    about=tr_later(
        "Each column that an outsider may know gets a hierarchy: what its values become, level by level. Search "
        "finds the levels that lose least and still put every row into a class of k. The result is not "
        "differential privacy: the page counts what is certain in it all the same, and a release with ε beside "
        "it. Its file has a certificate that says so, and it costs no ε, because nothing is promised."
    ),
    keys=tr_later("Ctrl+Return searches, Esc stops the search."),
)
