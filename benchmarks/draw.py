"""Draw the last results of each benchmark as `pictures/NAME.svg`.

    python benchmarks/draw.py                      # all that have results
    python benchmarks/draw.py encoding scale       # some

What counts is the last line for each thing that was measured. Needs matplotlib, the extra `bench`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from record import PICTURES, RESULTS

matplotlib.use("svg")
from matplotlib import pyplot as plt

STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "semsearch", "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#ddd", "legend.frameon": False,
    "axes.axisbelow": True, "figure.constrained_layout.use": True,
}
BASELINE, OURS, OTHER = "#9aa4ad", "#1f6fb4", "#c8553d"


def last_by(name: str, *keys: str) -> list[dict[str, Any]]:
    """Return the last line of results for each value of these keys, in the order of the values."""
    lines = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text("utf-8").splitlines()]
    found = {tuple(line[key] for key in keys): line for line in lines}
    return [found[values] for values in sorted(found)]


def panels(count: int, height: float = 2.9) -> tuple[Any, Sequence[Any]]:
    """Return a figure with so many axes, two in a row."""
    rows, columns = -(-count // 2), min(count, 2)
    figure, axes = plt.subplots(rows, columns, figsize=(3.9 * columns, height * rows), squeeze=False)
    return figure, list(axes.flat)


def bars(axes: Any, title: str, groups: Sequence[str], series: dict[str, Sequence[float]], colours: Sequence[str],
         numbers: str = "{:.1f}") -> None:
    """Draw groups of upright bars, each with its number."""
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        positions = [group + (place - (len(series) - 1) / 2) * width for group in range(len(groups))]
        drawn = axes.bar(positions, values, width, label=name, color=colours[place])
        axes.bar_label(drawn, labels=[numbers.format(value) for value in values], fontsize=7)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylim(0, 1.25 * max(value for values in series.values() for value in values))
    axes.set_title(title)
    axes.grid(axis="x", visible=False)
    axes.legend(fontsize=8)


def draw_encoding() -> Any:
    """Draw abstracts a second beside the baseline, by source and tokens."""
    lines = last_by("encoding", "source", "max_tokens")
    figure, (axes,) = panels(1, 3.2)
    figure.set_size_inches(7, 3.2)
    groups = [f"{line['source'].split('.')[0]}\n{line['max_tokens']} tokens" for line in lines]
    series = {name: [line["ways"][way]["texts_per_second"] for line in lines] for name, way in (
        ("SentenceTransformer.encode(texts)", "baseline"), ("float32", "float32"), ("int8", "int8"))}
    bars(axes, "Abstracts encoded a second, two cores", groups, series, (BASELINE, OURS, OTHER), "{:.0f}")
    return figure


def draw_cold_start() -> Any:
    """Draw what a first answer by a new process costs, as a share of the plain script."""
    line = last_by("cold_start", "benchmark")[-1]
    figure, (axes,) = panels(1, 2.6)
    figure.set_size_inches(7, 2.6)
    found = line["beside_plain_script"]
    names = list(found)
    drawn = axes.barh(names[::-1], [found[name]["ratio"] for name in reversed(names)], color=OURS)
    axes.bar_label(drawn, labels=[f"{found[name]['ratio']:.3f}  ({found[name]['seconds']:.2f} s)"
                                  for name in reversed(names)], fontsize=8, padding=3)
    for mark, what in ((1 / 8, "an eighth"), (1 / 20, "a twentieth")):
        axes.axvline(mark, color=OTHER, linestyle="--", linewidth=1)
        axes.text(mark, len(names) - 0.45, what, color=OTHER, fontsize=7, ha="center")
    axes.set_xlim(0, max(0.16, *(found[name]["ratio"] * 1.35 for name in names)))
    axes.grid(axis="y", visible=False)
    baseline = next(iter(found.values()))["baseline_seconds"]
    axes.set_title(f"A first answer by a new process, share of the plain script's {baseline:.1f} s", pad=14)
    return figure


def draw_first_answer() -> Any:
    """Draw the time to the first answer beside that of the complete encoding."""
    line = last_by("first_answer", "benchmark")[-1]
    figure, (axes,) = panels(1, 1.8)
    figure.set_size_inches(7, 1.8)
    names = ["encoding all", "from build to the first answer"]
    drawn = axes.barh(names, [line["complete_seconds"], line["first_answer_seconds"]], color=[BASELINE, OURS])
    axes.bar_label(drawn, fmt="{:.0f} s", padding=3)
    axes.set_xlim(0, line["complete_seconds"] * 1.15)
    axes.grid(axis="y", visible=False)
    axes.set_title(f"{line['papers']:,} abstracts: {line['complete_over_first_answer']:.0f} times as soon")
    return figure


def draw_partial_coverage() -> Any:
    """Draw nDCG@10 as a share of the complete index, and the latency, by budget and coverage."""
    line = last_by("partial_coverage", "benchmark")[-1]
    collections = [name for name in line if isinstance(line[name], dict) and "complete" in line[name]]
    timed = "warm_p50_ms" in line[collections[0]]["0% encoded, budget 20"]
    figure, axes = panels(len(collections) * (2 if timed else 1))
    for number, collection in enumerate(collections):
        cells = {name: cell for name, cell in line[collection].items() if name != "complete"}
        coverages = sorted({int(name.split("%")[0]) for name in cells})
        for coverage, colour in zip(coverages, (OTHER, "#8a6bb1", OURS, "#3f8f5b"), strict=False):
            points = sorted((int(name.split()[-1]), cell) for name, cell in cells.items()
                            if name.startswith(f"{coverage}%"))
            budgets = [budget for budget, _ in points]
            axes[number].plot(budgets, [100 * cell["nDCG@10_of_complete"] for _, cell in points], "o-", color=colour,
                              label=f"{coverage} % encoded before")
            if timed:
                axes[len(collections) + number].plot(budgets, [cell["warm_p50_ms"] for _, cell in points], "o-",
                                                     color=colour, label=f"{coverage} %")
        axes[number].set_title(f"{collection}: nDCG@10, % of the complete index")
        axes[number].axhline(100, color=BASELINE, linewidth=1)
        axes[number].set_xlabel("abstracts encoded when asked")
        axes[number].legend(fontsize=8)
        if timed:
            axes[len(collections) + number].set_title(f"{collection}: a warm question, p50, ms")
            axes[len(collections) + number].set_xlabel("abstracts encoded when asked")
    return figure


def draw_encode_idle() -> Any:
    """Draw what a question takes beside a server that does not encode, and how fast it encodes in the pauses."""
    line = last_by("encode_idle", "benchmark")[-1]
    figure, axes = panels(2)
    groups = [f"{pause} pauses\n{p}" for pause in ("short", "long") for p in ("p50", "p99")]
    series = {name: [line[pause][key][p] for pause in ("short", "long") for p in ("p50", "p99")]
              for name, key in (("serve", "resting_ms"), ("serve --encode-idle", "encoding_ms"))}
    bars(axes[0], "A question over HTTP, ms", groups, series, (BASELINE, OURS), "{:.0f}")
    speed = line["speed"]
    bars(axes[1], "Abstracts encoded a second", ["by the same encoder"],
         {"without pauses": [speed["bare_texts_a_second"]], "while nobody asks": [speed["texts_a_second_in_pauses"]]},
         (BASELINE, OURS))
    return figure


def draw_warm_questions() -> Any:
    """Draw warm questions beside bare calls of the engines."""
    line = last_by("warm_questions", "benchmark")[-1]
    figure, (axes,) = panels(1, 2.8)
    figure.set_size_inches(7, 2.8)
    times = line["milliseconds"]
    pairs = (("meaning", "faiss", "dense"), ("meaning and words", "faiss and tantivy", "hybrid"))
    groups = [f"{name}\n{p}" for name, *_ in pairs for p in ("p50", "p99")]
    series = {label: [times[pair[place]][p] for pair in pairs for p in ("p50", "p99")]
              for place, label in ((1, "bare engines"), (2, "semsearch, JSON included"))}
    bars(axes, f"{line['papers']:,} papers, {line['vectors']} vectors: milliseconds a question, encoding included",
         groups, series, (BASELINE, OURS))
    return figure


def draw_scale() -> Any:
    """Draw the growth from ten thousand papers to a million."""
    lines = last_by("scale", "size")

    def line(axes: Any, name: str, *keys: str, dashed: bool = False) -> None:
        values = []
        for found in lines:
            value: Any = found
            for key in keys:
                value = value[key]
            values.append(value)
        axes.plot([found["build"]["papers"] for found in lines], values, "o--" if dashed else "o-", label=name)

    figure, axes = panels(4)
    line(axes[0], "meaning", "ask", "dense", "p50")
    line(axes[0], "bare faiss", "ask", "dense_baseline", "p50", dashed=True)
    line(axes[0], "meaning and words", "ask", "hybrid", "p50")
    line(axes[0], "bare faiss + tantivy", "ask", "hybrid_baseline", "p50", dashed=True)
    line(axes[1], "adding ten papers", "add_ten", "seconds")
    line(axes[1], "verify", "verify", "seconds")
    line(axes[2], "all", "bytes_per_paper", "all")
    line(axes[2], "papers", "bytes_per_paper", "papers.sqlite")
    line(axes[2], "vectors", "bytes_per_paper", "vectors")
    line(axes[2], "words", "bytes_per_paper", "lexical")
    line(axes[3], "with mapped files", "build", "peak_mb", dashed=True)
    line(axes[3], "without", "build", "peak_without_mapped_files_mb")
    for one, title in zip(axes, ("A warm question, p50, ms", "Seconds", "On disk, bytes per paper",
                                 "Peak memory of the build, MB"), strict=True):
        one.set_title(title)
        one.set_xscale("log")
        one.set_yscale("log")
        one.set_xlabel("papers")
        one.legend(fontsize=8)
    return figure


def draw_structures() -> Any:
    """Draw what structures cost for as many vectors as were measured last."""
    lines = last_by("structures", "vectors")
    figure, axes = panels(4)
    names = [name.replace(",", "\n") for name in lines[-1]["structures"]]
    found = list(lines[-1]["structures"].values())
    for one, key, title in zip(axes, ("ms", "build_seconds", "open_and_first_ms", "bytes_per_vector"), (
            "A question, ms", "Building, seconds", "Opening and the first question, ms", "Bytes per vector"),
            strict=True):
        drawn = one.bar(names, [structure[key] for structure in found], color=OURS)
        one.bar_label(drawn, fontsize=8)
        one.set_title(title)
        one.grid(axis="x", visible=False)
    figure.suptitle(f"{lines[-1]['vectors']:,} vectors, recall@10 of 0.95 asked for; an exact scan takes "
                    f"{lines[-1]['exact']['ms_with_1_threads']:.0f} ms", fontsize=10)
    return figure


DRAWN: dict[str, Callable[[], Any]] = {
    "encoding": draw_encoding, "cold_start": draw_cold_start, "first_answer": draw_first_answer,
    "partial_coverage": draw_partial_coverage, "warm_questions": draw_warm_questions, "scale": draw_scale,
    "structures": draw_structures, "encode_idle": draw_encode_idle,
}


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(DRAWN)}")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(DRAWN)
    if unknown:
        parser.error(f"no picture is called {', '.join(sorted(unknown))}; there are {', '.join(DRAWN)}")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        for name in arguments.names or DRAWN:
            if (RESULTS / f"{name}.jsonl").exists():
                DRAWN[name]().savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
                print(PICTURES / f"{name}.svg")


if __name__ == "__main__":
    main()
