"""Tables of result files: pandas.DataFrame where pandas is there, else {column: numpy array}."""
import csv
import html
import os
from typing import Any, Dict, Iterable, List, TextIO, Union

import numpy

Table = Any  # pandas.DataFrame or Dict[str, numpy.ndarray]


def _pandas() -> Any:
    """Imported with the first table: it takes longer than a small run. None: tables are dicts."""
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _column(cells: List[str], missing: str) -> numpy.ndarray:
    """Whole numbers, numbers (an empty cell is nan), or texts."""
    for kind in (int, float):
        try:
            return numpy.array([kind(cell) if cell not in ("", missing) or kind is int else numpy.nan for cell in cells])
        except ValueError:
            continue
    return numpy.array(cells, dtype=object)


def read_csv(source: Union[str, "os.PathLike[str]", TextIO], missing: str = "") -> Table:
    """A result file, or its text as a stream. Columns keep their names; an empty cell is nan, and so is `missing`. Raises ValueError or
    IndexError."""
    pandas = _pandas()
    if pandas is not None:
        return pandas.read_csv(source, float_precision="round_trip", keep_default_na=False, na_values=["", missing])
    with open(source, newline="") if isinstance(source, (str, os.PathLike)) else source as lines:
        try:
            rows = list(csv.reader(lines))
        except csv.Error as error:
            raise ValueError(str(error)) from None
    return {name: _column([row[i] for row in rows[1:]], missing) for i, name in enumerate(rows[0])}


def of_rows(rows: List[Dict[str, Any]], columns: Iterable[str]) -> Table:
    """A table of dicts; missing cells are None."""
    columns = list(columns)
    pandas = _pandas()
    if pandas is not None:
        return pandas.DataFrame([[row.get(column) for column in columns] for row in rows], columns=columns)
    return {column: numpy.array([row.get(column) for row in rows], dtype=object) for column in columns}


def attribute(name: str, doc: str) -> Table:
    """A property that is the table of that name."""
    def get(self: Any) -> Table:
        return self._table(name)
    get.__doc__ = doc
    return property(get)


def frame(page: str, height: int) -> str:
    """A whole page within another one: its styles stay its own."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: {height}px; border: 0"></iframe>'
