"""What the readers make of each file of a folder, as a table in Markdown.

    python benchmarks/table_of_files.py FOLDER > table.md

`counted` is the number of records that was counted without the parser; `-` where a format has no such counter.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from semsearch.errors import SemsearchError
from semsearch.readers import SourceReader, expand_sources
from semsearch.readers.base import Located, Rejected


def main(folder: Path) -> None:
    """Print the table."""
    print("| file | format | encoding | counted | papers | with abstract | rejected |")
    print("|---|---|---|---:|---:|---:|---|")
    for file in expand_sources([folder]):
        name = Path(file.path).relative_to(folder.resolve())
        try:
            reader = SourceReader(file)
            items = list(reader)
        except SemsearchError as error:
            print(f"| {name} | not read | | | | | {error.message.replace('|', '/')} |")
            continue
        papers = [item.paper for item in items if isinstance(item, Located)]
        reasons = Counter(item.reason for item in items if isinstance(item, Rejected))
        counted = "-" if reader.counted is None else reader.counted
        rejected = "; ".join(f"{count} x {reason}" for reason, count in reasons.items()) or "0"
        print(f"| {name} | {reader.format.name} | {reader.encoding} | {counted} | {len(papers)} | "
              f"{sum(bool(paper.abstract) for paper in papers)} | {rejected} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
