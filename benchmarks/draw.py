"""Draw the growth from ten thousand papers to a million, out of `results/scale.jsonl`, as an SVG.

    python benchmarks/draw.py docs/scale.svg

For each size the last line of results counts. Both axes of each panel are logarithmic.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from record import RESULTS

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 300, 220, 46, 12, 30, 34
COLOURS = ("#1f6fb4", "#c8553d", "#3f8f5b", "#8a6bb1")
INK, GRID = "#333", "#ddd"


@dataclass(frozen=True)
class Line:
    """A name and its (papers, value) points."""

    name: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """A title that names the unit, and lines."""

    title: str
    lines: tuple[Line, ...]


def read_figures(path: Path) -> list[dict[str, Any]]:
    """Return the last figures of each size, by size."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [found for _, found in sorted({line["size"]: line for line in lines}.items())]


def panels(figures: Sequence[dict[str, Any]]) -> list[Panel]:
    """Return what is drawn."""
    def line(name: str, *keys: str, dashed: bool = False, scale: float = 1.0) -> Line:
        points = []
        for found in figures:
            value: Any = found
            for key in keys:
                value = value[key]
            points.append((float(found["build"]["papers"]), float(value) * scale))
        return Line(name, tuple(points), dashed)

    return [
        Panel("A warm question, p50, milliseconds", (
            line("meaning", "ask", "dense", "p50"), line("bare faiss", "ask", "dense_baseline", "p50", dashed=True),
            line("meaning and words", "ask", "hybrid", "p50"),
            line("bare faiss + tantivy", "ask", "hybrid_baseline", "p50", dashed=True))),
        Panel("Adding ten papers, seconds", (line("build", "add_ten", "seconds"), line("verify", "verify", "seconds"))),
        Panel("On disk, bytes per paper", (
            line("all", "bytes_per_paper", "all"), line("papers", "bytes_per_paper", "papers.sqlite"),
            line("vectors", "bytes_per_paper", "vectors"), line("words", "bytes_per_paper", "lexical"))),
        Panel("Peak memory of the build, MB", (
            line("with mapped files", "build", "peak_mb", dashed=True),
            line("without", "build", "peak_without_mapped_files_mb"))),
    ]


def ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten from one below or at `low` to one above or at `high`."""
    return [10.0**n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def label(value: float) -> str:
    """Return a power of ten in few characters."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def draw_panel(panel: Panel, x0: float, y0: float) -> list[str]:
    """Return the SVG of one panel."""
    xs = ticks(*spread([x for line in panel.lines for x, _ in line.points]))
    ys = ticks(*spread([y for line in panel.lines for _, y in line.points if y > 0]))

    def at(x: float, y: float) -> tuple[float, float]:
        across = math.log10(x / xs[0]) / math.log10(xs[-1] / xs[0])
        up = math.log10(max(y, ys[0]) / ys[0]) / math.log10(ys[-1] / ys[0])
        return x0 + LEFT + across * (WIDTH - LEFT - RIGHT), y0 + HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    svg = [f'<text x="{x0 + LEFT:.0f}" y="{y0 + 18:.0f}" font-weight="bold">{panel.title}</text>']
    for y in ys:
        (left, height), (right, _) = at(xs[0], y), at(xs[-1], y)
        svg += [f'<path d="M{left:.1f} {height:.1f}H{right:.1f}" stroke="{GRID}"/>',
                f'<text x="{left - 5:.1f}" y="{height + 4:.1f}" text-anchor="end">{label(y)}</text>']
    for x in xs:
        across, low = at(x, ys[0])
        svg.append(f'<text x="{across:.1f}" y="{low + 15:.1f}" text-anchor="middle">{label(x)}</text>')
    for number, line in enumerate(panel.lines):
        colour, dash = COLOURS[number % len(COLOURS)], ' stroke-dasharray="4 3"' if line.dashed else ""
        points = [at(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        svg += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
        key = y0 + HEIGHT + 4 + 14 * number
        svg += [f'<path d="M{x0 + LEFT:.0f} {key:.1f}h18" stroke="{colour}" stroke-width="2"{dash}/>',
                f'<text x="{x0 + LEFT + 24:.0f}" y="{key + 4:.1f}">{line.name}</text>']
    return svg


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the greatest, a tenfold apart at least."""
    low, high = min(values), max(values)
    return low, max(high, low * 10)


def drawn(chosen: Sequence[Panel]) -> str:
    """Return the whole picture, two panels in a row."""
    height = HEIGHT + 70
    rows = -(-len(chosen) // 2)
    body = [part for number, panel in enumerate(chosen)
            for part in draw_panel(panel, number % 2 * WIDTH, number // 2 * height)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {rows * height}" '
                      f'width="{2 * WIDTH}" font-family="sans-serif" font-size="11" fill="{INK}">',
                      '<rect width="100%" height="100%" fill="#fff"/>', *body, "</svg>", ""])


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    arguments.picture.write_text(drawn(panels(read_figures(RESULTS / "scale.jsonl"))), "utf-8")


if __name__ == "__main__":
    main()
