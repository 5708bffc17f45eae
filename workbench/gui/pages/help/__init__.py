"""The Help page: every topic, searched by typing."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="help",
    title=tr_later("Help"),
    room="tools",
    help=tr_later("Which way to release, why bounds must be public, what a certificate says, and every other topic"),
    make="workbench.gui.pages.help.page:HelpPage",
    topic="window",
    about=tr_later(
        "Every topic of the help, the same text as “workbench help TOPIC” prints. Type words to find the topics that "
        "contain all of them. F1 says beside any page what that page is for, and leads here."
    ),
    keys=tr_later("Up and Down choose a topic while you type."),
)
