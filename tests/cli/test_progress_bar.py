import io

from workbench.cli.console import ProgressBar, clock
from workbench.params.amounts import paid
from workbench.signals import Finished, Notice, Progress
from workbench.signals.events import Budget


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, newline="")

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What each carriage return left on the screen."""
        return self.bytes.getvalue().decode(self.encoding).split("\r")


def test_a_terminal_gets_a_bar_that_is_taken_away():
    screen = Terminal()
    bar = ProgressBar("curve", screen)
    bar(Progress(412, 780, "curve: naive Bayes", 21.4))
    bar(Finished(None))
    _, drawn, blank, end = screen.lines()
    assert drawn.startswith("curve: naive Bayes 412/780  ▓▓▓")
    assert drawn.endswith("░  0:21 left")
    assert len(drawn) < 80
    assert blank == " " * len(drawn)
    assert end == ""


def test_an_epsilon_so_far_is_never_shown_smaller_than_it_is():
    screen = Terminal()
    bar = ProgressBar("x", screen)
    bar(Budget(1.0004, 1e-5, 3.0))
    bar(Progress(1, 100, "steps", None))
    assert "ε 1.001 of 3" in screen.lines()[1]


def test_an_epsilon_that_was_charged_has_four_digits_the_last_rounded_up():
    assert [paid(epsilon) for epsilon in (1.0, 0.1, 2.998449)] == ["1", "0.1", "2.999"]


def test_a_shorter_line_covers_the_longer_one_before_it():
    screen = Terminal()
    bar = ProgressBar("x", screen)
    bar(Progress(1, 100, "a long label of a phase", 3700))
    bar(Progress(2, 100, "short", None))
    lines = screen.lines()
    assert len(lines[2]) >= len(lines[1])


def test_a_narrow_encoding_gets_plain_signs():
    screen = Terminal("ascii")
    ProgressBar("x", screen)(Progress(1, 2))
    assert "####" in screen.lines()[1]


def test_a_pipe_gets_notices_and_no_bar():
    pipe = io.StringIO()
    bar = ProgressBar("x", pipe)
    for event in (Progress(1, 2), Notice("info", "chosen for you"), Notice("warning", "no GPU"), Finished(None)):
        bar(event)
    assert pipe.getvalue() == "note: chosen for you\nwarning: no GPU\n"


def test_a_notice_stands_on_a_line_of_its_own():
    screen = Terminal()
    bar = ProgressBar("x", screen)
    bar(Progress(1, 2))
    bar(Notice("info", "a fallback"))
    assert screen.lines()[-1] == "note: a fallback\n"


def test_time_is_written_as_people_write_it():
    assert [clock(s) for s in (0, 21.4, 61, 3599.6, 3725)] == ["0:00", "0:21", "1:01", "1:00:00", "1:02:05"]
