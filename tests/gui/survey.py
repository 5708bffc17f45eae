"""A survey of 60 mixed columns about people of whom none exists, and what its data dictionary declares."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

FIRST, LAST = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jo", "Kim", "Lea"), (
    "Abel", "Brandt", "Conti", "Dvorak", "Eriksen", "Fontaine", "Gruber", "Horvat", "Ivanov", "Jansen", "Klein", "Lang",
)  # fmt: skip
CHOICES = {
    "Sex": ("f", "m"),
    "Region": ("East", "North", "South", "West"),
    "Education": ("primary", "secondary", "tertiary"),
    "Employment": ("employed", "retired", "student", "unemployed"),
    "Smoker": ("no", "yes"),
}
BOUNDS = {"Age": (18, 90), "Income": (0, 9000), "Satisfaction": (0, 10)}
OPINIONS, SCORES = [f"Q{k:02}" for k in range(1, 31)], [f"Score {k}" for k in range(1, 13)]
NEEDED = ("Age", "Sex", "Region", "Education", "Employment", "Income", "Satisfaction", "Smoker")
"""The columns that are suggested, in their order."""


def columns(made: random.Random) -> dict[str, Callable[[int], str]]:
    """Return what is in each column, by the number of the row."""
    day = lambda: f"{made.randint(1, 12):02}/{made.randint(1, 12):02}"  # noqa: E731 - a word for one expression
    gap = lambda text, share: "" if made.random() < share else text  # noqa: E731
    return {
        "RespondentID": lambda i: f"R{i:05}",
        "First name": lambda i: made.choice(FIRST),
        "Surname": lambda i: made.choice(LAST),
        "Email": lambda i: f"p{i}@mail.example",
        "Household no": lambda i: str(1000 + i // 3),
        "Interview date": lambda i: f"{day()}/2024",
        "Birth date": lambda i: f"{day()}/{made.randint(1940, 2005)}",
        "Age": lambda i: str(made.randint(18, 90)),
        "Sex": lambda i: made.choice(CHOICES["Sex"]),
        "Region": lambda i: made.choice(CHOICES["Region"]),
        "Zip": lambda i: f"0{1000 + made.randint(0, 60)}",
        "Phone": lambda i: f"+43 660 {i:07}",
        "Education": lambda i: made.choice(CHOICES["Education"]),
        "Employment": lambda i: made.choice(CHOICES["Employment"]),
        "Income": lambda i: gap(str(made.randint(800, 8900)), 0.08),
        "Satisfaction": lambda i: str(made.randint(0, 10)),
        "Smoker": lambda i: made.choice(CHOICES["Smoker"]),
        "Comments": lambda i: f"remark {i} of somebody",
        **{name: lambda i: made.choice(("agree", "disagree", "neutral")) for name in OPINIONS},
        **{name: lambda i: gap(f"{made.uniform(0, 100):.1f}", 0.05) for name in SCORES},
    }


@cache
def survey_text(rows: int) -> str:
    """Return the table; it is the same each time."""
    cells = columns(random.Random(5))
    assert len(cells) == 60
    lines = [",".join(cells), *(",".join(cell(i) for cell in cells.values()) for i in range(rows))]
    return "\n".join(lines) + "\n"


def write_survey(path: Path, rows: int = 200) -> Path:
    path.write_text(survey_text(rows), "utf-8")
    return path


def write_survey_dictionary(path: Path) -> Path:
    """Write a data dictionary of most of its columns; the order of day and month is one of its facts."""
    lines = ["name,role,kind,lower,upper,values,missing,date_order", "RespondentID,identifier,,,,,,"]
    lines += [f"{name},,category,,,{'|'.join(values)},refuse," for name, values in CHOICES.items()]
    lines += [f"{name},,integer,{lower},{upper},,own-value," for name, (lower, upper) in BOUNDS.items()]
    lines += ["Interview date,,date,2024-01-01,2024-12-31,,refuse,day-first"]
    lines += [f"{name},,category,,,agree|disagree|neutral,refuse," for name in OPINIONS]
    lines += [f"{name},,real,0,100,,own-value," for name in SCORES]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
