"""``patchfold embed`` of Parquet files on a Dask cluster.

This process never holds the table: workers read its row groups, and the output is written one
group of rows at a time.
"""

import glob
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from patchfold.cli import _options as options
from patchfold.cli._session import Refused, about, duration, say, working

if TYPE_CHECKING:
    from patchfold.cli.embedding import EmbedOptions

# The table is embedded on a cluster if it has more bytes, as numbers, than this share of what is
# free: a fit in one process needs some ten times as much as the table.
SHARE = 0.1

# The share of free memory that workers on this machine may use together.
WORKERS_SHARE = 0.8

# Bytes that a worker needs at least, of which modules and compiled code take 0.5 GB. The memory is
# divided among as many workers as get LEAST_WORKER bytes each, at least one.
LEAST_MEMORY, LEAST_WORKER = 10**9, 2 * 10**9


def is_streamed(data: str, cluster: str | None) -> bool:
    """Tell whether a table is embedded on a cluster: if one is named, or it is too large."""
    if cluster is not None or ("*" in data and not Path(data).exists()):
        return True
    path = Path(data)
    if path.suffix != ".parquet" or not path.is_file():
        return False
    from patchfold.base.memory import available_memory

    try:
        described = import_module("pyarrow.parquet").read_metadata(path)
    except Exception:  # noqa: BLE001 - whoever reads it says what is wrong
        return False
    free = available_memory()
    return free is not None and 8 * described.num_rows * described.num_columns > SHARE * free


def embed_streamed(asked: "EmbedOptions") -> None:
    """Embed the rows of Parquet files on a cluster and write them to one, or refuse to."""
    from patchfold.distributed.connection import check_installed
    from patchfold.tables.problems import counted

    refused = ["supervised"] if asked.supervised else []
    refused += ["metric"] if asked.metric != "euclidean" else []
    refused += [kind for kind in ("model", "html", "png") if asked.outputs[kind] is not None]
    if refused:
        raise Refused(f"--{refused[0]} does not go with rows on a cluster; leave it out.")
    if (place := asked.output) is None:
        raise Refused("rows on a cluster are written to a file; name it: --output FILE.parquet.")
    if place.suffix != ".parquet":
        raise Refused(f"{place}: rows on a cluster become Parquet; name it .parquet.")
    if not glob.glob(asked.data):  # noqa: PTH207 - a pattern with folders of any depth
        raise Refused(f"{asked.data}: no file has such a name.")
    try:
        check_installed()
    except ImportError as error:
        raise Refused(str(error)) from error
    start = time.monotonic()
    n = _embed(asked, place)
    say([f"{counted(n, 'row')}: {duration(time.monotonic() - start)}", f"Wrote {place}"])


def _embed(asked: "EmbedOptions", place: Path) -> int:
    """Embed the rows, write them and return their number."""
    from patchfold.embedding.methods import METHODS, divergence_parameters
    from patchfold.tables.problems import counted

    kind, beside = METHODS[asked.method], [name for name in (asked.ids, asked.target) if name]
    with _client(asked.cluster, asked.memory) as client, about(asked.data):
        groups = row_groups(asked.data)
        others = [*beside, *(asked.drop or ()), *(asked.info or ())]
        features = _features(asked.data, groups[0].file, others)
        workers = len(client.scheduler_info(-1)["workers"])
        say([f"Embedding {counted(len(features), 'column')} on {counted(workers, 'worker')}"])
        with working(f"Embedding {asked.data} ..."):
            points = points_of(groups, features)
            if asked.standardize is not False:
                points = _standardised(points)
            estimator = kind(
                asked.components,
                n_neighbors=options.neighbors(asked.neighbors),
                random_state=asked.seed,
                **divergence_parameters(asked.method, asked.divergence),
            )
            places = estimator.set_params(engine=client).fit(points).embedding_
            return _write(place, groups, beside, places, kind.__name__)


class RowGroup(NamedTuple):
    """A group of rows in a Parquet file: its number there, and how many rows it has."""

    file: str
    at: int
    rows: int


def row_groups(data: str) -> list[RowGroup]:
    """Return all groups that have rows, in order.

    Dask itself would keep statistics of every column of every group in this process: 1.3 GB for
    200 groups of 2000 columns.
    """
    parquet, dask = import_module("pyarrow.parquet"), import_module("dask.utils")
    found = [Path(name) for name in glob.glob(data)]  # noqa: PTH207
    files = [one for path in found for one in (path.glob("*.parquet") if path.is_dir() else [path])]
    groups, first = list[RowGroup](), None
    for file in sorted(map(str, files), key=dask.natural_sort_key):
        described = parquet.read_metadata(file)
        names = described.schema.names
        first = (file, names) if first is None else first
        if names != first[1]:
            raise Refused(f"{file}: its columns are not those of {first[0]}.")
        sizes = [described.row_group(at).num_rows for at in range(described.num_row_groups)]
        # Workers have folders of their own.
        path = str(Path(file).absolute())
        groups += [RowGroup(path, at, size) for at, size in enumerate(sizes) if size]
    if not groups:
        raise Refused(f"{data}: there are no rows in Parquet files of such a name.")
    return groups


def points_of(groups: list[RowGroup], features: list[str]) -> Any:
    """Return a Dask array whose chunks are groups of rows, which workers read.

    It knows their sizes. A data frame would read the whole table once more, to count.
    """
    da, delayed = import_module("dask.array"), import_module("dask").delayed
    names = delayed(features)
    chunks = [
        da.from_delayed(delayed(_numbers)(group, names), (group.rows, len(features)), float)
        for group in groups
    ]
    return da.concatenate(chunks)


def _numbers(group: RowGroup, features: list[str]) -> Any:
    """Read the features of a group of rows."""
    with import_module("pyarrow.parquet").ParquetFile(group.file) as file:
        rows = file.read_row_group(group.at, columns=features, use_pandas_metadata=True)
    return rows.to_pandas()[features].to_numpy(dtype=float)


def _features(data: str, file: str, others: list[str]) -> list[str]:
    """Return the columns that are features; refuse text, and names that are not there."""
    schema = import_module("pyarrow.parquet").read_schema(file)
    frame = schema.empty_table().to_pandas()
    missing = [name for name in others if name not in frame.columns]
    if missing:
        raise Refused(f"{data}: there is no column {missing[0]!r}.")
    features = [name for name in frame.columns if name not in others]
    if not features:
        raise Refused(f"{data}: no column is left to embed.")
    text = [name for name in features if frame.dtypes[name].kind not in "fiub"]
    if text:
        raise Refused(
            f"{data}: column {text[0]!r} is no number, and categories are not coded on a "
            "cluster; leave it out with --drop, or name it with --id or --target."
        )
    return features


def _standardised(points: Any) -> Any:
    """Return columns of mean zero and deviation one, but constant ones; missing numbers stay."""
    dask, da = import_module("dask"), import_module("dask.array")
    mean, spread = dask.compute(da.nanmean(points, axis=0), da.nanstd(points, axis=0))
    spread[~(spread > 0)] = 1.0
    return (points - mean) / spread


def _write(output: Path, groups: list[RowGroup], names: list[str], places: Any, method: str) -> int:
    """Write columns and coordinates, one group of rows at a time."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    written, writer = 0, None
    part = output.with_suffix(".parquet.part")
    try:
        for block, group in enumerate(groups):
            coordinates = places.blocks[block].compute()
            with parquet.ParquetFile(group.file) as file:
                beside = file.read_row_group(group.at, columns=names)
            columns = {column: beside[column] for column in names}
            for axis in range(coordinates.shape[1]):
                columns[f"{method.lower()}{axis}"] = coordinates[:, axis]
            table = arrow.table(columns)
            writer = parquet.ParquetWriter(part, table.schema) if writer is None else writer
            writer.write_table(table)
            written += len(table)
    finally:
        if writer is not None:
            writer.close()
    part.replace(output)
    return written


@contextmanager
def _client(address: str | None, memory: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start workers on this machine."""
    distributed = import_module("distributed")
    with ExitStack() as opened:
        if address is None:
            workers, limit = shared_out(memory)
            # Dask warns of memory that a worker cannot write to disk; so much of it is foreseen.
            options = {"threads_per_worker": 1, "memory_limit": limit, "dashboard_address": ":0"}
            options["silence_logs"] = logging.ERROR
            there = distributed.LocalCluster(n_workers=workers, **options)
            opened.enter_context(_closed(there))
        try:
            client = distributed.Client(there if address is None else address)
        except (OSError, ValueError) as error:
            raise Refused(
                f"--cluster {address}: there is no scheduler ({error}); start one with "
                "'dask scheduler'."
            ) from error
        opened.enter_context(_closed(client))
        yield client


@contextmanager
def _closed(opened: Any) -> Iterator[None]:
    """Close a client or a cluster; what ended the fit counts, and not that workers are slow."""
    try:
        yield
    finally:
        with suppress(TimeoutError):
            opened.close()


def shared_out(memory: str | None) -> tuple[int, Any]:
    """Return how many workers to start on this machine, and what each may use."""
    from joblib import cpu_count

    from patchfold.base.memory import available_memory

    if memory is None:
        free = available_memory()
        if free is None:
            return cpu_count(), "auto"
        room = int(WORKERS_SHARE * free)
    else:
        try:
            room = import_module("dask.utils").parse_bytes(memory)
        except ValueError as error:
            raise Refused(f"--memory {memory}: give bytes with a unit, e.g. 4GB.") from error
        if room < LEAST_MEMORY:
            raise Refused(f"--memory {memory}: workers need at least 1GB.")
    workers = max(1, min(cpu_count(), room // LEAST_WORKER))
    return workers, room // workers
