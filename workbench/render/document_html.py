"""A document as one HTML file that loads nothing, and as the simpler HTML that Qt prints from."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Callable, Sequence

from workbench.params.errors import one_line
from workbench.render.document import Block, Bullets, Document, FactList, Grid, Paragraph, Picture
from workbench.render.palette import DARK, LIGHT, Theme

PictureTag = Callable[[Picture], str]  # returns the HTML of a figure

_STYLE = """
:root {{ {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ background: var(--window); color: var(--text); font: 15px/1.5 Inter, system-ui, sans-serif; margin: 0; }}
main {{ background: var(--surface); border: 1px solid var(--line); border-radius: 8px; margin: 24px auto;
  max-width: 860px; padding: 32px 40px; position: relative; }}
h1 {{ font-size: 26px; line-height: 1.2; margin: 0 0 4px; }}
h2 {{ border-top: 1px solid var(--line); font-size: 17px; margin: 28px 0 8px; padding-top: 16px; }}
p {{ margin: 8px 0; }} ul {{ margin: 8px 0; padding-left: 20px; }}
.muted, footer, .subtitle {{ color: var(--muted); }} .strong {{ font-weight: 600; }}
.formula {{ font-size: 17px; margin: 12px 0; text-align: center; }}
.wide {{ overflow-x: auto; }} img {{ border-radius: 6px; display: block; margin: 12px 0; width: 100%; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; width: 100%; }}
th, td {{ border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0; text-align: left; vertical-align: top; }}
th {{ color: var(--muted); font-weight: 600; }} .right {{ text-align: right; }}
table.facts td:first-child {{ color: var(--muted); white-space: nowrap; width: 1%; padding-right: 24px; }}
td {{ overflow-wrap: anywhere; }}
pre {{ background: var(--window); border-radius: 6px; font-size: 13px; overflow-x: auto; padding: 12px; }}
footer {{ border-top: 1px solid var(--line); font-size: 13px; margin-top: 28px; padding-top: 12px; }}
.badge {{ border: 2px solid var(--danger); border-radius: 6px; color: var(--danger); display: inline-block;
  font-weight: 600; margin-bottom: 12px; padding: 2px 10px; text-transform: uppercase; }}
@media print {{ main {{ border: 0; margin: 0; max-width: none; padding: 0; }} h2 {{ break-after: avoid; }}
  tr, img {{ break-inside: avoid; }} }}
"""


def page_html(document: Document, drawn: Sequence[bytes] = ()) -> str:
    """Return ``document`` as one HTML file that needs no other and loads none.

    Raises:
        ValueError: a figure was not drawn: those are printed, not published.
    """
    images = iter(drawn)

    def picture(block: Picture) -> str:
        image = next(images, None)
        if image is None:
            raise ValueError(f"the figure {block.figure.title!r} is printed, not published")
        source = f"data:image/png;base64,{b64encode(image).decode()}"
        return f'<img src="{source}" alt="{_text(block.figure.title)}">\n'

    own = "; img-src data:" if drawn else ""
    badge = f'<div class="badge">{_text(document.badge)}</div>' if document.badge else ""
    style = _STYLE.format(light=_variables(LIGHT), dark=_variables(DARK))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Nothing is loaded and nothing runs, whatever a column is called.
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'{own}\">\n"
        f"<title>{_text(document.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f'{badge}<h1>{_text(document.title)}</h1>\n<p class="subtitle">{_text(document.subtitle)}</p>\n'
        f"{body_html(document, picture)}<footer>{_text(document.foot)}</footer>\n</main>\n</body>\n</html>\n"
    )


def body_html(document: Document, picture: PictureTag) -> str:
    """Return the sections of ``document`` as HTML; figures are what ``picture`` makes of them."""
    parts = []
    for section in document.sections:
        parts.append(f"<h2>{_text(section.title)}</h2>\n")
        parts += [_block(block, picture) for block in section.blocks]
    return "".join(parts)


def _block(block: Block, picture: PictureTag) -> str:
    match block:
        case Paragraph(text, "code"):
            return f"<pre>{chr(10).join(_text(line) for line in text.rstrip().split(chr(10)))}</pre>\n"
        case Paragraph(text, look):
            return f'<p class="{look}">{_text(text)}</p>\n' if look else f"<p>{_text(text)}</p>\n"
        case Bullets(lines):
            return f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>\n"
        case FactList(lines):
            rows = "".join(
                f'<tr><td width="24%">{_text(name)}</td><td>{_text(stated)}</td></tr>' for name, stated in lines
            )
            return f'<table class="facts" width="100%" cellspacing="0" cellpadding="3">{rows}</table>\n'
        case Grid():
            return _grid(block)
        case Picture():
            return picture(block)


def _grid(grid: Grid) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        sides = ['class="right" align="right"' if i in grid.right else 'align="left"' for i in range(len(cells))]
        if grid.widths:
            sides = [f'{side} width="{share}%"' for side, share in zip(sides, grid.widths, strict=True)]
        return "".join(f"<{tag} {side}>{_text(c)}</{tag}>" for side, c in zip(sides, cells, strict=True))

    rows = "".join(f"<tr>{line(row, 'td')}</tr>\n" for row in grid.rows)
    head = f"<thead><tr>{line(grid.header, 'th')}</tr></thead>"
    table = f'<table width="100%" cellspacing="0" cellpadding="4">{head}<tbody>{rows}</tbody></table>'
    return f'<div class="wide">{table}</div>\n'


def _text(text: str) -> str:
    return html.escape(one_line(text))


def _variables(theme: Theme) -> str:
    names = ("window", "surface", "text", "muted", "line", "danger")
    return " ".join(f"--{name}: {getattr(theme, name)};" for name in names)
