"""Tables of result files: pandas.DataFrame where pandas is there, else {column: numpy array}."""
import csv
import html
import io
from typing import Any, Dict, Iterable, List, Union

import numpy

try:
    import pandas
except ImportError:  # tables are dicts then
    pandas = None

Table = Any  # pandas.DataFrame or Dict[str, numpy.ndarray]


def _column(cells: List[str]) -> numpy.ndarray:
    """Whole numbers, numbers (an empty cell is nan), or texts."""
    for kind in (int, float):
        try:
            return numpy.array([kind(cell) if cell or kind is int else numpy.nan for cell in cells])
        except ValueError:
            continue
    return numpy.array(cells, dtype=object)


def read_csv(source: Union[str, "io.TextIOBase"]) -> Table:
    """A result file, or its text as a stream. Columns keep their names; an empty cell is nan."""
    if pandas is not None:
        return pandas.read_csv(source, float_precision="round_trip", keep_default_na=False, na_values=[""])
    with open(source, newline="") if not hasattr(source, "read") else source as lines:
        rows = list(csv.reader(lines))
    return {name: _column([row[i] for row in rows[1:]]) for i, name in enumerate(rows[0])}


def of_rows(rows: List[Dict[str, Any]], columns: Iterable[str]) -> Table:
    """A table of dicts; missing cells are None."""
    columns = list(columns)
    if pandas is not None:
        return pandas.DataFrame([[row.get(column) for column in columns] for row in rows], columns=columns)
    return {column: numpy.array([row.get(column) for row in rows], dtype=object) for column in columns}


def frame(page: str, height: int) -> str:
    """A whole page within another one: its styles stay its own."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: {height}px; border: 0"></iframe>'
