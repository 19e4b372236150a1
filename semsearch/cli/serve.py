"""semsearch serve: answers over HTTP, and a page to search on."""

from __future__ import annotations

from pathlib import Path

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.options import console_options, device_options, home_option


@click.command(epilog="""\b
Examples:
  semsearch serve                          # then open http://127.0.0.1:8765/
  semsearch serve --encode-idle            # and encode, while nobody asks, what indexes lack
  curl 'http://127.0.0.1:8765/api/indexes/papers/query?q=few+labels&limit=5'
""")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Where to listen; 127.0.0.1 is reached from this machine only, 0.0.0.0 from everywhere.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True,
              help="The port; 0 takes one that is free.")
@click.option("--encode-idle", is_flag=True, help="Encode papers that have no vector yet while nobody asks, what was "
              "asked about first. A build is not kept out, and questions go first.")
@device_options
@home_option
@console_options
@click.pass_obj
def command(app: App, host: str, port: int, encode_idle: bool, device: str, trust_remote_code: bool,
            home: Path, console: Console) -> None:
    """Answer over HTTP, with a page to search on, on this machine.

    All indexes of the home are there, as they are at each moment: a build may publish meanwhile. /api/openapi.json
    says what can be asked.
    """
    from semsearch.provider import LocalModels

    try:
        from semsearch.server.run import serve
        from semsearch.server.service import ServerOptions
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "pydantic", "starlette", "uvicorn"):
            raise
        from semsearch.errors import MissingExtra

        raise MissingExtra("semsearch serve", "serve") from error
    serve(home.expanduser(), app.provider or LocalModels(), ServerOptions(device, trust_remote_code, encode_idle),
          console.note, host=host, port=port)
