"""Tables whose columns share one unit: pixels of images, a grid such as a spectrum, and counts.

To give every column variance 1 would hide what such a table shows: columns without a signal would
weigh as much as the others.
"""

from __future__ import annotations

import re
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables.columns import is_numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchfold.base.types import Doubles

# At most LOOKED_AT rows are looked at.
LOOKED_AT = 500
# A table is one of pixels if its sides have this many, and a step to the next pixel changes the
# value by less than SMOOTH of a step to any pixel (squared). Digits have 0.47 (8 x 8) and 0.20
# (28 x 28), columns in any other order 1.
SMALLEST_SIDE, LARGEST_SIDE, SMOOTH = 8, 256, 0.7
# A curve has at least FEWEST_OF_GRID columns. In its mean row and in its main direction, a step to
# the next column is below SMOOTH_GRID of a step to any column (squared). Chosen on sonar (0.01 and
# 0.04) and Raman spectra of a fermentation (0.17 and 0.00); numbered columns in other orders have
# 0.8 or more, those in pairs 0.4.
FEWEST_OF_GRID, SMOOTH_GRID = 20, 0.4
# A column that varies SPIKE times as much as the middle one, or more, counts as if it varied so
# much: it may be stray light.
SPIKE = 2.0
# Counts have at least FEWEST_OF_COUNTS columns. The largest is at least TAIL times their mean.
# Without the OTHER_UNITS columns with the largest numbers it is at least LARGEST_COUNT, and half as
# many times their mean: the age beside sixty answers is no large count. Whole numbers of several
# units are none: one column has more than LARGEST_SHARE of the sum.
FEWEST_OF_COUNTS, LARGEST_COUNT, TAIL, LARGEST_SHARE, OTHER_UNITS = 50, 10, 10, 0.5, 3
# Columns that are called so are cells or samples: barcodes, and accessions of archives.
CELL = re.compile(
    r"(?:.*[_:.#-])?[ACGT]{10,}(?:[-._].*)?|(?:SRR|ERR|DRR|SRX|GSM|SAMN)\d{3,}.*|TCGA[-.].*"
)
# Rows that are called so are genes: identifiers, and at least KNOWN_GENES that most tables have.
GENE = re.compile(r"ENS[A-Z]{0,4}G\d{6,}(?:\.\d+)?|FBgn\d{5,}|WBGene\d{5,}|AT[1-5CM]G\d{5}")
KNOWN_GENES = 3
COMMON_GENES = frozenset(
    (
        *("ACTB", "GAPDH", "B2M", "MALAT1", "EEF1A1", "TMSB4X", "TP53", "MYC", "EGFR", "PTPRC"),
        *("CD4", "CD8A", "CD3D", "CD3E", "MS4A1", "NKG7", "LYZ", "VIM", "HPRT1", "PCNA", "KRT18"),
        *("RPL3", "RPL13", "RPS6", "RPS18", "RPLP0", "MT-CO1", "MT-CO2", "MT-ND1", "MT-ND4"),
    )
)
# MOST_NAMES of the names, or more, look alike.
MOST_NAMES = 0.8
# A name with a number in it: what stands before, the number, what stands behind.
NUMBERED = re.compile(r"(.*?)([+-]?\d+(?:[.,]\d+)?)(\D*)")


def unit_of(features: Any) -> str:
    """Say which unit the features share: ``"pixels"``, ``"grid"``, ``"counts"``; "" for none.

    Examples
    --------
    >>> import pandas as pd
    >>> place = np.arange(400, 500, 2)
    >>> peaks = [np.exp(-(((place - center) / 9) ** 2)) for center in range(430, 470)]
    >>> unit_of(pd.DataFrame(peaks, columns=place.astype(str)))
    'grid'
    """
    numbers = [name for name in features.columns if is_numeric(features[name])]
    table = features[numbers].to_numpy()
    if len(numbers) == features.shape[1]:
        if pixel_side(table) is not None:
            return "pixels"
        if grid_columns(numbers) == numbers and is_smooth(table):
            return "grid"
    return "counts" if are_counts(table) else ""


def genes_in_rows(columns: Sequence[str], rows: Sequence[Any]) -> bool:
    """Tell whether a table has a row for each gene, and its columns are cells or samples.

    Examples
    --------
    >>> genes_in_rows(["AAACCTGAGAAACCAT-1", "AAACCTGAGATAGTCA-1"], ["x", "y"])
    True
    >>> genes_in_rows(["tumour 1", "tumour 2"], ["Actb", "Gapdh", "Trp53", "Myc"])
    True
    >>> genes_in_rows(["ACTB", "GAPDH", "MYC"], ["AAACCTGAGAAACCAT-1", "AAACCTGAGATAGTCA-1"])
    False
    """

    def share(kind: re.Pattern[str], names: Sequence[Any]) -> float:
        return float(np.mean([bool(kind.fullmatch(str(name))) for name in names] or [False]))

    common = COMMON_GENES.intersection(str(name).upper() for name in rows)
    return (
        share(CELL, columns) >= MOST_NAMES
        or share(GENE, rows) >= MOST_NAMES
        or len(common) >= KNOWN_GENES
    )


def pixel_side(X: Any) -> int | None:
    """Return the side of square pictures whose pixels are the columns of a table, or None.

    Pixels have one range (whole numbers up to 255, or numbers from 0 to 1), and pixels side by side
    are alike.

    Examples
    --------
    >>> from sklearn.datasets import load_digits, load_iris
    >>> pixel_side(load_digits().data), pixel_side(load_iris().data)
    (8, None)
    """
    n, *rest = getattr(X, "shape", (0,))
    side = isqrt(rest[0]) if len(rest) == 1 else 0
    if not n or not SMALLEST_SIDE <= side <= LARGEST_SIDE or side * side != rest[0]:
        return None
    table = np.asarray(X)
    if table.ndim != 2 or table.dtype.kind not in "biuf":  # sparse matrices, tables with words
        return None
    some = table[_looked_at(n)].astype(np.float64)
    least, largest = some.min(), some.max()
    whole = largest > 1 and bool((some == np.round(some)).all())
    if not (least >= 0 and 0 < largest <= (255 if whole else 1)):
        return None
    pictures = some.reshape(-1, side, side)
    beside = np.mean([(np.diff(pictures, axis=axis) ** 2).mean() for axis in (1, 2)])
    mixed = some[:, np.random.default_rng(0).permutation(some.shape[1])]
    apart = (np.diff(mixed, axis=1) ** 2).mean()
    return side if apart > 0 and beside < SMOOTH * apart else None


def grid_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that are called alike but for a number, which rises or falls; most first.

    Examples
    --------
    >>> grid_columns(["time", *(f"{length} nm" for length in range(400, 600, 10))])[:2]
    ['400 nm', '410 nm']
    """
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for name in names:
        found = NUMBERED.fullmatch(str(name))
        if found is not None:
            number = float(found[2].replace(",", "."))
            groups.setdefault((found[1], found[3]), {})[name] = number
    largest = max(groups.values(), key=len, default={})
    steps = np.diff(list(largest.values()))
    runs = len(largest) >= FEWEST_OF_GRID and bool((steps > 0).all() or (steps < 0).all())
    return list(largest) if runs else []


def is_smooth(table: Doubles) -> bool:
    """Whether values change little from one column to the next, as along a spectrum.

    Looked at are the mean row and the main direction in which rows differ, so that noise counts
    little, and a spike does not count more than all other columns.
    """
    some = table[_looked_at(len(table))]
    some = some[np.isfinite(some).all(axis=1)]
    if len(some) < 3:
        return False
    mean, spread = some.mean(axis=0), some.std(axis=0)
    weights = np.minimum(1.0, SPIKE * np.median(spread) / np.where(spread > 0, spread, 1.0))
    *_, directions = np.linalg.svd((some - mean) * weights, full_matrices=False)
    return max(_roughness(mean), _roughness(np.abs(directions[0]))) < SMOOTH_GRID


def _roughness(values: Doubles) -> float:
    """Return the squared step to the next value beside that to any value: 1 in any order."""
    from scipy.stats import rankdata

    if values.std() == 0:
        return 1.0
    return min(float((np.diff(v) ** 2).mean() / (2 * v.var())) for v in (values, rankdata(values)))


def are_counts(table: Doubles) -> bool:
    """Whether numbers are counts of many things, such as reads of genes or words of texts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> are_counts(rng.poisson(rng.exponential(2, (30, 60)))), are_counts(np.eye(60))
    (True, False)
    """
    some = table[_looked_at(len(table))]
    some = some[np.isfinite(some).all(axis=1)]
    if some.shape[1] < FEWEST_OF_COUNTS or not len(some) or some.min() < 0:
        return False
    others = some[:, np.argsort(some.max(axis=0))[:-OTHER_UNITS]]
    return bool(
        some.max() >= TAIL * some.mean()
        and others.max() >= max(LARGEST_COUNT, TAIL / 2 * others.mean())
        and some.sum(axis=0).max() <= LARGEST_SHARE * some.sum()
        and (some == np.round(some)).all()
    )


def _looked_at(n: int) -> Any:
    return np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(int)
