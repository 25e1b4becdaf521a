"""Errors, as exceptions. Their text is that of the command line."""
import re
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


def _items(text: str) -> List[str]:
    """The parts between commas outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


_never = {"int": r"-?\d*\.|-?\d+e|['\"[({]|None|<straggler\.(?!Peer)", "float": r"['\"[({]|None|<straggler\.",
          "str": r"[-\d.[({]|None|<straggler\.", "sequence": r"[^[(]", "List": r"[^[(]"}


def _fits(value: str, kind: str) -> bool:
    """Whether an argument that is shown so may be of that type; True where that cannot be seen."""
    if kind.startswith("straggler."):
        return re.match(rf"<{re.escape(kind)}\b", value) is not None
    never = _never.get(kind.partition("[")[0])
    return never is None or not re.match(never, value)


def of_call(text: str) -> str:
    """One line of pybind11's error about a call: which argument is wrong, and what it must be."""
    shown = r"(\w+)\(\): .*?\n    1\. \(self: [\w.]+(?:, )?(.*?)\) -> .*?\n\nInvoked with: (.*)"
    found = re.match(shown, text.replace("._straggler", ""), re.S)
    if not found:
        return text
    name, signature, given = found[1], _items(found[2]), found[3]
    positional, _, named = given.partition("; kwargs: ")
    if "\n    2. " in text:
        return f"node.{name} is called with other types than it takes: {given[:160]}"
    values = _items(positional)[1:]  # without the node
    names = [each.partition(":")[0] for each in signature]
    call = f"node.{name}({', '.join(names)})"
    pairs = [*zip(names, values), *(tuple(each.split("=", 1)) for each in _items(named))]
    kinds = {each.partition(":")[0]: each.partition(": ")[2].partition(" = ")[0] for each in signature}
    for argument, value in pairs:
        if argument not in kinds:
            return f"{call} has no argument {argument}"
        if not _fits(value, kinds[argument]):
            return f"{call}: {argument} is {value[:80]}; it must be of type {kinds[argument].replace('sequence', 'list')}"
    missing = [each.partition(":")[0] for each in signature if " = " not in each and each.partition(":")[0] not in dict(pairs)]
    if len(values) > len(names):
        return f"{call} takes {len(names)} arguments, and is called with {len(values)}"
    return f"{call} is called without {', '.join(missing)}" if missing else f"{call} is called with other types: {given[:120]}"
