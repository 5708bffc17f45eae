"""The Calculator page: what training with DP-SGD costs, before there is any run."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="calculator",
    title=tr_later("Calculator"),
    room="tools",
    help=tr_later("What training a network would cost, and how ε moves with rows, batch, noise, epochs and δ"),
    make="workbench.gui.pages.calculator.page:CalculatorPage",
    topic="epsilon",
    known_as="budget calculator",
    about=tr_later(
        "Move a slider to see what a run of DP-SGD would cost. No table is read and nothing is "
        "charged: ε follows from public figures alone. Each chart shows ε against one figure, all "
        "others as set, by three accountants; the lowest line is the one that counts."
    ),
    keys=tr_later("Arrow keys move a slider, Page Up and Page Down in larger steps."),
)
