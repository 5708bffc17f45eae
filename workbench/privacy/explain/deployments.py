"""The ε that published uses of differential privacy state, each with its source.

Only what the organisation itself has published is here. The figures are of different things (a day, a month, a
decade; a device, a person), so that no two of them can be compared without reading of what they are.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deployment:
    """A published use of differential privacy."""

    who: str  # the organisation
    what: str  # what it publishes or collects
    trust: str  # `central` or `local`
    low: float  # the least ε that it states
    high: float  # the greatest
    delta: str  # δ as it states it; empty where there is none
    unit: str  # what the ε is of
    source: str  # where that is published

    @property
    def epsilon(self) -> str:
        """The stated ε, or their range."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


DEPLOYMENTS: tuple[Deployment, ...] = (
    Deployment(
        "Wikimedia",
        "page views by country",
        "central",
        1.0,
        1.0,
        "1e-7",
        "one device's first ten pages in one day",
        "Wikimedia, Pageviews Differential Privacy README, 2023 (ρ = 0.015 zCDP, stated as about ε = 1)",
    ),
    Deployment(
        "Google",
        "RAPPOR with its printed parameters (f = 0.5, two hashes)",
        "local",
        1.07,
        4.39,
        "",
        "one report; all reports of one value",
        "Erlingsson, Pihur and Korolova, RAPPOR, CCS 2014",
    ),
    Deployment(
        "Google",
        "COVID-19 symptom searches",
        "central",
        1.68,
        1.68,
        "",
        "one person's searches in one day",
        "Bavadekar and others, Google COVID-19 Search Trends Symptoms Dataset: Anonymization, arXiv 2009.01265, 2020",
    ),
    Deployment(
        "Apple",
        "emoji, health types, web domains and new words that people use",
        "local",
        2.0,
        16.0,
        "",
        "one person in one day, for each kind of data",
        "Apple, Differential Privacy Overview, 2017, with its reports of a day added up, as in Desfontaines, A list of "
        "real-world uses of differential privacy",
    ),
    Deployment(
        "Google",
        "COVID-19 vaccination searches",
        "central",
        2.19,
        2.19,
        "1e-5",
        "one person's searches in one day",
        "Bavadekar and others, Google COVID-19 Vaccination Search Insights: Anonymization, arXiv 2107.01179, 2021",
    ),
    Deployment(
        "US Census Bureau",
        "2020 Census redistricting data, persons",
        "central",
        17.14,
        17.14,
        "1e-10",
        "one person, all tables together",
        "US Census Bureau, Key Parameters to Protect Privacy in 2020 Census Results, June 2021, as later papers quote "
        "it (with 2.47 for housing units)",
    ),
    Deployment(
        "LinkedIn",
        "Audience Engagements API",
        "central",
        34.9,
        34.9,
        "7e-9",
        "one member, all questions of one analyst in a month",
        "Rogers and others, LinkedIn's Audience Engagements API, arXiv 2002.05839, 2020",
    ),
)
"""By ascending ε."""


def published_between(low: float, high: float) -> tuple[Deployment, ...]:
    """Return the published uses whose ε overlaps the range."""
    return tuple(d for d in DEPLOYMENTS if d.low <= high and d.high >= low)
