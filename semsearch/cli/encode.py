"""semsearch encode: texts become vectors, in parts, on as many machines as there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.options import console_options, device_options, json_option, precision_option

if TYPE_CHECKING:
    from semsearch.shards.division import Shard
    from semsearch.shards.run import Engine
    from semsearch.shards.work import ShardSummary


def _shard(text: str) -> Shard:
    from semsearch.errors import UsageError
    from semsearch.shards.division import parse_shard

    try:
        return parse_shard(text)
    except UsageError as error:
        raise click.BadParameter(f"{error.message} {error.way_out}") from error


@click.command(epilog="""\b
Examples:
  semsearch encode dump/ -o vectors/                             # all of it, here
  semsearch encode dump/ --shard 3/16 -o vectors/                # a sixteenth of it
  sbatch --array=1-16 --gpus=1 --wrap 'semsearch encode dump/ --shard $SLURM_ARRAY_TASK_ID/16 -o vectors/'
  semsearch encode dump/ --shards 64 --engine ray --address auto -o /shared/vectors
  semsearch build dump/ --vectors vectors/                       # then, where the index is to be
""")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="The folder of the shards; several machines may share it.")
@click.option("--shard", type=_shard, metavar="I/N", help="Encode only the I-th of N parts, counted from 1.")
@click.option("--shards", type=click.IntRange(1, 9999), metavar="N",
              help="Encode all of N parts, one after the other or on a cluster.  [default: 1]")
@click.option("--engine", type=click.Choice(["here", "ray"]), default="here", show_default=True,
              help="Who encodes: this process, or the workers of a Ray cluster.")
@click.option("--address", metavar="auto|HOST:PORT", help="The Ray cluster.  [default: one on this machine]")
@click.option("--workers", type=click.IntRange(min=1), metavar="N",
              help="How many workers on the Ray cluster.  [default: one for each GPU, else for each machine]")
@click.option("--from", "from_format", metavar="FORMAT",
              help="What the files are, where looking into them is not enough.")
@click.option("-m", "--model", metavar="NAME|FOLDER", help="The sentence encoder.  [default: all-MiniLM-L6-v2]")
@click.option("--model-revision", metavar="REV", help="A branch, tag or commit of the model.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N",
              help="Cut texts after N tokens.  [default: the model's own limit]")
@precision_option
@click.option("--factory", metavar="SPEC", help="Fill the lists of an IVF index too, such as IVF65536,SQ8, for a build "
              "with the same --factory.")
@device_options
@json_option
@console_options
@click.pass_obj
def command(app: App, sources: tuple[str, ...], output: Path, shard: Shard | None, shards: int | None, engine: str,
            address: str | None, workers: int | None, from_format: str | None, model: str | None,
            model_revision: str | None, max_tokens: int | None, precision: str | None, factory: str | None, device: str,
            trust_remote_code: bool, as_json: bool, console: Console) -> None:
    """Encode texts in parts, on several machines.

    No index is needed or made: `build --vectors DIR` takes the vectors later. Any part may be stopped and run again, on
    any machine that sees DIR: one that is finished is left alone, one that was stopped goes on, and where the sources
    grew only what is new is encoded. Rejected records are counted; `build` tells them with its exit status, so the one
    here is 0.
    """
    if shard is not None and shards is not None:
        raise click.UsageError("--shard says which part, --shards all of them: give one.")
    if engine != "ray" and (address is not None or workers is not None):
        raise click.UsageError("--address and --workers are of --engine ray.")
    from semsearch.encoding import DEFAULT_MODEL, FLOAT32, EncoderRequest
    from semsearch.shards.division import all_shards
    from semsearch.shards.run import EncodeOptions, encode_shards

    request = EncoderRequest(model or DEFAULT_MODEL, model_revision, max_tokens, device, trust_remote_code,
                             precision or FLOAT32)
    wanted = [shard] if shard is not None else all_shards(shards or 1)
    run = _engine(engine, address, workers)
    rejected = 0
    for summary in encode_shards(sources, wanted, output, request, EncodeOptions(from_format, factory), engine=run,
                                 provider=app.provider, progress=console.progress()):
        _tell(summary, as_json)
        rejected = summary.rejected
    if rejected:
        console.note(f"{rejected:,} records of the sources were rejected; semsearch build and read say which.")


def _engine(name: str, address: str | None, workers: int | None) -> Engine:
    """Return who encodes."""
    if name == "here":
        from semsearch.shards.work import encode_here

        return encode_here
    from semsearch.engines.ray import RayCluster

    cluster = RayCluster(address, workers)
    cluster.check()
    return cluster.encode


def _tell(summary: ShardSummary, as_json: bool) -> None:
    if as_json:
        from semsearch.cli.output import write_json

        write_json(summary.as_dict())
        return
    from semsearch.cli.build_report import count_of
    from semsearch.cli.progress import duration

    done = f"encoded {summary.encoded:,}, {summary.reused:,} there already" if summary.encoded else "nothing to do"
    click.echo(f"Shard {summary.shard}: {count_of(summary.texts, 'text')}, {done}, in {duration(summary.seconds)}")
