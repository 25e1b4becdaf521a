"""Errors, as exceptions. Their text is that of the command line."""
import re
from typing import Any, List, Mapping, NamedTuple, Sequence


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


class ModelError(Error, ValueError):
    """A model of yours gives what no model may give: other shapes, a NaN, other bits for the same arguments."""


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


def shown(value: Any) -> str:
    """Its repr in one line, at most 80 characters."""
    try:
        return f"{value!r}"[:80].replace("\n", " ")
    except Exception:
        return f"an object of {type(value).__name__}"


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__")


def _is_list(value: Any) -> bool:
    return hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict))


_is_of = {"int": _is_whole, "float": lambda value: hasattr(value, "__float__") or _is_whole(value),
          "str": lambda value: isinstance(value, str), "bool": lambda value: isinstance(value, bool), "sequence": _is_list,
          "List": _is_list}


def _fits(value: Any, kind: str) -> bool:
    """Whether an argument may be of that type; True where that cannot be seen."""
    if kind.startswith("straggler."):
        return type(value).__module__.startswith("straggler") and type(value).__name__ == kind.rpartition(".")[2]
    outer, _, inner = kind.partition("[")
    if outer == "Optional":
        return value is None or _fits(value, inner[:-1])
    if outer not in _is_of or not _is_of[outer](value):
        return outer not in _is_of
    return outer != "List" or all(_fits(each, inner[:-1]) for each in value)


def of_call(name: str, text: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> str:
    """One line of pybind11's error about a call: which argument is wrong, and what it must be."""
    signatures = re.findall(rf"^    \d+\. (?:{name})?\((.*)\) -> ", text.replace("._straggler", ""), re.M)
    signature, values = _items(signatures[0]) if signatures else [], [*arguments]
    if signature and signature[0].startswith("self: "):
        kind = signature[0][6:]
        name = f"{kind.rpartition('.')[2].lower() if kind != 'straggler.PushWeight' else 'share'}.{name}"
        if not values or not _fits(values[0], kind):
            return f"{name} is a method of {kind}, and is called on {shown(values[0]) if values else 'nothing'}"
        signature, values = signature[1:], values[1:]
    names = [each.partition(":")[0] for each in signature]
    call = f"{name}({', '.join(names)})"
    if len(signatures) != 1:
        return f"{name} is called with other types than it takes: {', '.join(map(shown, values))[:160]}"
    kinds = {each.partition(":")[0]: each.partition(": ")[2].partition(" = ")[0] for each in signature}
    if len(values) > len(names):
        return f"{call} takes {len(names)} argument{'s' * (len(names) != 1)}, and is called with {len(values)}"
    for argument, value in (*zip(names, values), *named.items()):
        if argument not in kinds:
            return f"{call} has no argument {argument}"
        if not _fits(value, kinds[argument]):
            return f"{call}: {argument} is {shown(value)}; it must be of type {kinds[argument].replace('sequence', 'list')}"
    given = {*names[:len(values)], *named}
    missing = [each.partition(":")[0] for each in signature if " = " not in each and each.partition(":")[0] not in given]
    if missing:
        return f"{call} is called without {', '.join(missing)}"
    for argument, value in (*zip(names, values), *named.items()):
        if kinds[argument] == "int" and _is_whole(value):
            return f"{call}: {argument} is {shown(value)}; it must be a whole number that is not negative and fits"
    return f"{call} is called with other types: {', '.join(map(shown, [*values, *named.values()]))[:120]}"
