"""Errors, as exceptions. Their text is that of the command line."""
from typing import List, NamedTuple, Sequence


class Problem(NamedTuple):
    """One problem of a scenario."""
    file: str     #: the file as it was named, or a name for a text or a dict; the text of a `set`
    line: int     #: from 1; 0 without a text to point at
    column: int   #: from 1
    path: str     #: of the setting, as "training.scheme"
    message: str  #: the error and the remedy


class Error(Exception):
    """Base class of Straggler's errors."""


class ScenarioError(Error, ValueError):
    """A scenario is wrong. `problems` has every problem, with its place."""

    def __init__(self, text: str, problems: Sequence[Problem] = ()):
        super().__init__(text)
        self.problems: List[Problem] = list(problems)


class DataError(Error, ValueError):
    """A file of data or of weights is missing or invalid."""


class ResultsError(Error, OSError):
    """A result folder cannot be written, read or replaced."""


class RunFailed(Error, RuntimeError):
    """The run could not continue: a deadlock, or times beyond all bounds."""


class MemoryBudgetExceeded(Error, MemoryError):
    """The math needs more memory than its budget."""
