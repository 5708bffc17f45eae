"""How results are shown: one short line in a terminal, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


def short(value: Any) -> str:
    """Return a value as it is shown: a float in at most ten digits, 3 for 3.0."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


class Shown:
    """Something with a short ``repr`` and an HTML form; it says what is shown in :meth:`facts_shown`."""

    def facts_shown(self) -> tuple[str, Mapping[str, Any], list[dict[str, Any]]]:
        """Return a heading, a few facts by name, and the rows of a table (each the same keys)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        heading, facts, _ = self.facts_shown()
        line = ", ".join(f"{name} = {short(value)}" for name, value in facts.items())
        return f"<{heading}: {line}>" if len(line) <= 200 else f"<{heading}: {line[:199]}…>"

    def _repr_html_(self) -> str:
        heading, facts, rows = self.facts_shown()
        lines = [f"<b>{escape(heading)}</b>", "<table>"]
        lines += [f"<tr><th>{escape(str(k))}</th><td>{escape(short(v))}</td></tr>" for k, v in facts.items()]
        lines.append("</table>")
        if rows:
            head = "".join(f"<th>{escape(key)}</th>" for key in rows[0])
            lines += ["<table>", f"<tr>{head}</tr>"]
            lines += ["<tr>" + "".join(f"<td>{escape(short(v))}</td>" for v in row.values()) + "</tr>" for row in rows]
            lines.append("</table>")
        return "\n".join(lines)
