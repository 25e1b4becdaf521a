"""A scenario as a path, as YAML text or as a dict; and changes of it. All become what the reader of YAML takes."""
import json
import math
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Union

ScenarioLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Union[None, Mapping[str, Any], List[str]]

_plain = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+%*()-]*( [A-Za-z0-9_./+%*()-]+)*")


def _scalar(value: Any) -> str:
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()  # of numpy
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no setting; write a finite number")
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        return text if _plain.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    raise TypeError(f"{value!r} is no setting; write numbers, texts, lists and dicts")


def flow(value: Any) -> str:
    """The value as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return _scalar(value)


def _nested(value: Any) -> bool:
    return bool(value) and (isinstance(value, Mapping) or
                            isinstance(value, (list, tuple)) and any(isinstance(item, (Mapping, list, tuple)) for item in value))


def block(value: Mapping[str, Any], indent: str = "") -> str:
    """The dict as YAML, a line for each setting, so that messages can name a line."""
    lines = []
    for key, item in value.items():
        if not _nested(item):
            lines.append(f"{indent}{_scalar(key)}: {flow(item)}\n")
        elif isinstance(item, Mapping):
            lines.append(f"{indent}{_scalar(key)}:\n{block(item, indent + '  ')}")
        else:
            lines.append(f"{indent}{_scalar(key)}:\n" + "".join(f"{indent}  - {flow(each)}\n" for each in item))
    return "".join(lines)


def sets(given: Settings) -> List[str]:
    """["PATH=VALUE"] of {path: value}, or of such a list."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [f"{path}={flow(value)}" for path, value in given.items()]
    if isinstance(given, str):
        raise TypeError(f"set is {given!r}; write a dict, as {{'training.batch.per_worker': 64}}, or a list of 'PATH=VALUE'")
    return [str(each) for each in given]


def count(name: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """The whole number. Raises TypeError or ValueError with what would be right."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; write a whole number")
    if not least <= int(value) <= most:
        raise ValueError(f"{name} is {value}; write a whole number from {least} to {most}")
    return int(value)


def text_or_path(scenario: ScenarioLike, what: str = "scenario") -> Dict[str, str]:
    """{"path": …}, or {"text": …, "name": …}."""
    if isinstance(scenario, Mapping):
        return {"text": block(scenario), "name": f"{what} (dict)"}
    if isinstance(scenario, str) and ("\n" in scenario or scenario.lstrip().startswith("{")):
        return {"text": scenario, "name": f"{what} (text)"}
    return {"path": os.fspath(scenario)}


def source(scenario: ScenarioLike, set: Settings, seed: Optional[int], timing_only: bool) -> Dict[str, Any]:
    """The form that the extension takes."""
    return {**text_or_path(scenario), "sets": sets(set), "seed": None if seed is None else count("seed", seed, most=2**64 - 1),
            "timing_only": bool(timing_only)}
