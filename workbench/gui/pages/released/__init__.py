"""The Released page: everything that was released or paid for, with its files."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="released",
    title=tr_later("Releases"),
    room="released",
    help=tr_later("Everything that was released from any table: its files, their verification and documents"),
    make="workbench.gui.pages.released.page:ReleasedPage",
    topic="certificate",
    known_as="verify certificate documents bundle paused runs",
    state=lambda session: (
        "ready" if session.released or session.account.past or session.account.generalised else "empty"
    ),
    about=tr_later(
        "Every release that the ledger of this computer knows, the newest first, with its files where they still are. "
        "Select one to verify it, to save its certificate or a whole bundle, to open it as a table, or to see what a "
        "recipient can estimate from it. Nothing here costs anything."
    ),
    keys=tr_later(
        "Up and Down select a release, Ctrl+F filters, Ctrl+C copies the selected lines. Verify recomputes every "
        "checksum of a release and compares it with the certificate."
    ),
)
