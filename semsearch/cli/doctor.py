"""semsearch doctor: is all there that is needed, and what to do where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.app import App
from semsearch.cli.options import console_options, home_option, json_option

if TYPE_CHECKING:
    from semsearch.cli.console import Console


@click.command(epilog="""\b
Examples:
  semsearch doctor
  semsearch doctor --json > report.json
""")
@json_option
@home_option
@console_options
@click.pass_context
def command(ctx: click.Context, as_json: bool, home: Path, console: Console) -> None:
    """Check the installation and say what to do.

    Versions, model, devices, folders, indexes. Exit status 1 says that building or asking cannot work as things are.
    """
    app: App = ctx.obj
    from semsearch.cli.diagnosis import diagnose
    from semsearch.cli.output import open_output, write_json

    diagnosis = diagnose(home.expanduser(), app.provider)
    if as_json:
        write_json(diagnosis.as_dict())
    else:
        from semsearch.cli.console import look_of
        from semsearch.writers.table import write_fields

        with open_output(None) as stream:
            look = look_of(stream)
            write_fields(diagnosis.fields(), stream, look)
            stream.write("\n" + look.bold("What to do") + "\n" if diagnosis.todo else "\nAll is well.\n")
            for line in diagnosis.todo:
                stream.write(f"- {line}\n")
    if not diagnosis.works:
        ctx.exit(1)
