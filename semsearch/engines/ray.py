"""Shards on a Ray cluster; the only importer of ray.

Each worker is an actor that keeps its model; a call makes one whole shard, by the same code as a process of its own
would. So whatever dies, what it had encoded lies in the folder of shards, and whoever comes next goes on from there.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from semsearch import errors
from semsearch.errors import IndexBusy, MissingExtra, SemsearchError, SourceNotFound, UsageError
from semsearch.progress import Progress, Silent
from semsearch.provider import EncoderProvider
from semsearch.shards.division import Shard
from semsearch.shards.staging import StagedTexts
from semsearch.shards.work import ShardEncoder, ShardPlan, ShardSummary

_HOST_AND_PORT: Final = re.compile(r"([^/\s]+):([0-9]{1,5})")
_REACH_SECONDS: Final = 10.0
_BUSY_SECONDS: Final = 180.0
"""How long a worker waits for a shard whose worker before died: some network file systems keep its lock a while."""
_BUSY_PAUSE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class RayCluster:
    """Which cluster, and how many workers on it.

    `address` None is that of the environment variable RAY_ADDRESS, else a cluster on this machine for this run alone.
    `workers` None is one for each GPU, else one for each machine.
    """

    address: str | None = None
    workers: int | None = None

    def check(self) -> None:
        """Check that ray is installed and the cluster there: before hours are spent on reading.

        Raises:
            MissingExtra: it is not installed.
            UsageError: there is no such cluster.
        """
        _import_ray()
        if not self._is_own():
            with self._connected():
                pass

    def encode(self, plan: ShardPlan, staged: StagedTexts, shards: Sequence[Shard], provider: EncoderProvider,
               progress: Progress) -> Iterator[ShardSummary]:
        """Make shards on the cluster and yield their summaries when all are finished.

        A shard that fails keeps no other from being finished.

        Raises:
            SemsearchError: what the first of the workers met that failed.
        """
        plan, staged = _seen_from_anywhere(plan), replace(staged, folder=staged.folder.absolute())
        summaries: list[ShardSummary] = []
        failures: list[dict[str, Any]] = []
        with self._connected() as ray, progress.task("Encoding on Ray", len(shards), "shard") as task:
            size, resources = self._pool(ray, plan.request.device, len(shards))
            progress.note(f"{len(shards):,} shards on {size} workers, with {_spelt(resources)} each.")
            with closing(_rows(ray, plan, staged, shards, provider, size, resources)) as rows:
                for row in rows:
                    task.advance(1)
                    if row["error"]:
                        if row["message"] not in {failure["message"] for failure in failures}:
                            progress.note(f"Shard {row['number']}/{row['of']} failed, the others go on: "
                                          f"{row['message']}")
                        failures.append(row)
                        continue
                    summaries.append(ShardSummary(Shard(row["of"], row["number"]), row["texts"], row["encoded"],
                                                  row["reused"], row["rejected"], row["seconds"], row["folder"]))
        if failures:
            raise _raised(failures, len(shards))
        yield from sorted(summaries, key=lambda summary: summary.shard)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Connect to the cluster and give ray; nothing of its own reaches standard output, which carries our data."""
        with redirect_stdout(sys.stderr):
            ray = _import_ray()
            self._reach()
            options: dict[str, Any] = {"include_dashboard": False} if self._is_own() else {}
            try:
                ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **options)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise self._unreachable(error) from error
            try:
                context = ray.data.DataContext.get_current()
                context.enable_progress_bars = False
                yield ray
            finally:
                ray.shutdown()

    def _reach(self) -> None:
        """Check that someone listens at an address HOST:PORT: ray itself would try for many minutes."""
        found = _HOST_AND_PORT.fullmatch(self.address or os.environ.get("RAY_ADDRESS") or "")
        if found:
            try:
                socket.create_connection((found[1].strip("[]"), int(found[2])), _REACH_SECONDS).close()
            except (OSError, OverflowError) as error:
                raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> UsageError:
        where = self.address or os.environ.get("RAY_ADDRESS") or "this machine"
        return UsageError(f"There is no Ray cluster to use at {where}: {str(error).splitlines()[0]}.",
                          "Start one with: ray start --head --disable-usage-stats   and give its address, as in "
                          "--address HOST:6379, or --address auto on one of its machines.")

    def _is_own(self) -> bool:
        """Return whether the cluster is begun by this run and ends with it."""
        return self.address is None and not os.environ.get("RAY_ADDRESS")

    def _pool(self, ray: Any, device: str, shards: int) -> tuple[int, dict[str, float]]:
        """Return how many workers there are to be, and what each of them takes of its machine."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = int(sum(node.get("GPU", 0) for node in nodes)) if device != "cpu" else 0
        if device.startswith("cuda") and not gpus:
            raise UsageError(f"No machine of the Ray cluster has a GPU, and --device is {device}.",
                             "Use --device cpu, or start ray on machines that have one.")
        size = min(self.workers or gpus or len(nodes), shards)
        if gpus:
            return size, {"num_gpus": 1 if size <= gpus else gpus / size}
        cpus = [int(node.get("CPU", 0)) for node in nodes]
        return size, {"num_cpus": max(1, min(sum(cpus) // size, max(cpus, default=1)))}


class _Worker:
    """Makes one shard a call; the model is loaded once."""

    def __init__(self, plan: ShardPlan, staged: StagedTexts, provider: EncoderProvider) -> None:
        self._arguments = (plan, staged, provider)
        self._encoder: ShardEncoder | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(int(batch["of"][0]), int(batch["number"][0]))
        row: dict[str, Any] = {"number": shard.number, "of": shard.of, "texts": 0, "encoded": 0, "reused": 0,
                               "rejected": 0, "seconds": 0.0, "folder": "", "error": "", "message": "", "way_out": ""}
        try:
            summary = _patiently(self._opened().encode, shard)
            row |= {**summary.as_dict(), "number": shard.number}
            del row["shard"]
        except SemsearchError as error:  # as data, so that it comes out at the other end as what it is
            row |= {"error": type(error).__name__, "message": error.message, "way_out": error.way_out}
        return {name: [value] for name, value in row.items()}

    def _opened(self) -> ShardEncoder:
        if self._encoder is None:
            plan, staged, provider = self._arguments
            if not staged.folder.is_dir():
                raise SourceNotFound(f"A worker on {socket.gethostname()} does not see {staged.folder}.",
                                     "Name with -o a folder that all machines of the cluster see under one path.")
            self._encoder = ShardEncoder(plan, staged, provider, Silent())
        return self._encoder


def _import_ray() -> Any:
    """Return ray, which is not to report anything to anyone, nor to say more than errors."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its C++ side writes to our standard error
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtra("--engine ray", "ray") from error
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray


def _seen_from_anywhere(plan: ShardPlan) -> ShardPlan:
    """Return a plan whose paths do not depend on the folder in which a process runs."""
    model = Path(plan.request.model).expanduser()
    request = replace(plan.request, model=str(model.absolute())) if model.is_dir() else plan.request
    return replace(plan, output=plan.output.expanduser().absolute(), request=request)


def _rows(ray: Any, plan: ShardPlan, staged: StagedTexts, shards: Sequence[Shard], provider: EncoderProvider,
          size: int, resources: dict[str, float]) -> Generator[dict[str, Any]]:
    """Yield what came of each shard, in the order in which they are finished.

    Ray Data starts a worker that died again, here or on another machine, and gives its shard out again, without limit.
    Its threads end when this is exhausted or closed: one that still runs when ray is shut down ends the whole process,
    with status 1 and without a word.
    """
    items = [{"number": shard.number, "of": shard.of} for shard in shards]
    yield from ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        _Worker, batch_size=1, batch_format="numpy", fn_constructor_args=(plan, staged, provider),
        compute=ray.data.ActorPoolStrategy(size=size), **resources).iter_rows()


def _patiently(encode: Callable[[Shard], ShardSummary], shard: Shard) -> ShardSummary:
    """Make a shard; where the worker before may just have died on it, wait for its lock to go."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return encode(shard)
        except IndexBusy:
            if time.monotonic() > until:
                raise
            time.sleep(_BUSY_PAUSE_SECONDS)


def _raised(failures: Sequence[dict[str, Any]], shards: int) -> SemsearchError:
    """Return the error that the first worker met that failed, and how many of the shards failed with it."""
    first = failures[0]
    kind = getattr(errors, first["error"], SemsearchError)
    known = isinstance(kind, type) and issubclass(kind, SemsearchError) and kind.__init__ is SemsearchError.__init__
    more = f" ({len(failures)} of {shards} shards failed.)" if len(failures) > 1 else ""
    return (kind if known else SemsearchError)(f"Shard {first['number']}/{first['of']}: {first['message']}{more}",
                                               first["way_out"])


def _spelt(resources: dict[str, float]) -> str:
    return ", ".join(f"{amount:g} {name.removeprefix('num_').upper()}" for name, amount in resources.items())
