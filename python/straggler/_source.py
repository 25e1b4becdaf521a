"""A scenario as a path, as YAML text or as a dict; and changes of it. All become what the reader of YAML takes."""
import json
import math
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _straggler
from ._errors import shown

ScenarioLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Union[None, Mapping[str, Any], List[str]]

_number = re.compile(r"[-+]?(\d[\d_]*)?\.?\d*([eE][-+]?\d+)?|[-+]?\.(inf|nan)|0[xob][\da-f]+|true|false|yes|no|on|off|null|~", re.I)
_plain = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+%*()-]*( [A-Za-z0-9_./+%*()-]+)*")


def plain(value: Any, path: str = "", depth: int = 0) -> Any:
    """The value as dicts, lists and scalars: ranges and one-dimensional arrays become lists. `path` names it in errors."""
    if depth > 60:
        raise ValueError(f"{shown(path)}: is nested more than 60 deep, or contains itself; a scenario needs fewer than ten levels")

    def no_setting(what: str, remedy: str) -> str:
        return f"{path + ': ' if path else ''}{what} is no setting; write {remedy}"
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, (str, int, float)):
                raise TypeError(no_setting(f"the key {shown(key)}", "texts as keys"))
        return {plain(key): plain(item, f"{path}.{key}" if path else str(key), depth + 1) for key, item in value.items()}
    shape = getattr(value, "shape", None)  # of numpy, or of pandas
    if isinstance(shape, tuple) and len(shape) > 1:
        raise TypeError(no_setting(f"{type(value).__name__} of shape {shape}", "a list, or a one-dimensional array"))
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [plain(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(no_setting(str(value), "a finite number"))
    if value is not None and not isinstance(value, (bool, int, float, str, os.PathLike)):
        raise TypeError(no_setting(shown(value), "numbers, texts, lists and dicts"))
    if isinstance(value, (str, os.PathLike)):
        return _writable(path or "a text", str(os.fspath(value)))
    return value


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value) if isinstance(value, float) else str(int(value))
    text = str(os.fspath(value))
    return json.dumps(text, ensure_ascii=False) if _number.fullmatch(text) else _word(text)  # in quotes it is no number, and no True


def _word(text: str) -> str:
    return text if _plain.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _key(key: Any) -> str:
    return _word(key) if isinstance(key, str) else _scalar(key)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value)


def flow(value: Any, path: str = "") -> str:
    """The value as YAML in one line. `path` names it in errors."""
    return _flow(plain(value, path))


def _nested(value: Any) -> bool:
    return bool(value) and (isinstance(value, dict) or isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value))


def block(value: Dict[str, Any], indent: str = "") -> str:
    """The plain dict as YAML, a line for each setting, so that messages can name a line."""
    lines = []
    for key, item in value.items():
        if not _nested(item):
            lines.append(f"{indent}{_key(key)}: {_flow(item)}\n")
        elif isinstance(item, dict):
            lines.append(f"{indent}{_key(key)}:\n{block(item, indent + '  ')}")
        else:
            lines.append(f"{indent}{_key(key)}:\n" + "".join(f"{indent}  - {_flow(each)}\n" for each in item))
    return "".join(lines)


def sets(given: Settings) -> List[str]:
    """["PATH=VALUE"] of {path: value}, or of such a list."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [f"{word('set: a path', path)}={flow(value, path)}" for path, value in given.items()]
    if isinstance(given, str):
        raise TypeError(f"set is {given!r}; write a dict, as {{'training.batch.per_worker': 64}}, or a list of 'PATH=VALUE'")
    if isinstance(given, (bytes, int, float)) or not hasattr(given, "__iter__"):
        raise TypeError(f"set is {shown(given)}; write a dict, as {{'training.batch.per_worker': 64}}, or a list of 'PATH=VALUE'")
    return [word("set: an entry", each) for each in given]


def flag(name: str, value: Any) -> bool:
    """True or False. Raises TypeError."""
    if type(value).__name__ not in ("bool", "bool_"):  # Python's, or numpy's
        raise TypeError(f"{name} is {shown(value)}; write True or False")
    return bool(value)


def word(name: str, value: Any) -> str:
    """The text. Raises TypeError, or ValueError where a file or a message cannot hold it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}; write a text")
    return _writable(name, value)


def label(name: str, value: Any) -> str:
    """A text, or a number as one."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else word(name, value)


def _writable(name: str, text: str) -> str:
    if "\0" in text:
        raise ValueError(f"{name} is {shown(text)}, which has a character of number 0; leave it out")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is {shown(text)}, which is no text in UTF-8; write another one") from None
    return text


def path(name: str, value: Any) -> str:
    """The path of a file or folder as a text. Raises TypeError or ValueError."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(value, os.PathLike) and not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} is {shown(value)}; write a path")
    if not os.fspath(value):
        raise ValueError(f"{name} is empty; name a {'folder' if name == 'out' else 'file or folder'}")
    return _writable(name, os.fspath(value))


def count(name: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """The whole number. Raises TypeError or ValueError with what would be right."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {shown(value)}; write a whole number")
    if not least <= int(value) <= most:
        raise ValueError(f"{name} is {value}; write a whole number from {least} to {most}")
    return int(value)


def threads_of(threads: Any) -> Dict[str, Any]:
    """What a call says of threads: a number, 0 for all cores, or "auto": of these as many as are fastest."""
    if isinstance(threads, str):
        if threads != "auto":
            raise TypeError(f"threads is {shown(threads)}; write a whole number, or 'auto' for as many as are fastest")
        return {"threads": 0, "choose_threads": True}
    return {"threads": count("threads", threads, most=_straggler.most_threads), "choose_threads": False}


def text_or_path(scenario: ScenarioLike, what: str = "scenario") -> Dict[str, str]:
    """{"path": …}, or {"text": …, "name": …}."""
    if isinstance(scenario, Mapping):
        return {"text": block(plain(scenario)), "name": f"{what} (dict)"}
    if not isinstance(scenario, (str, os.PathLike)) or scenario == "":
        raise TypeError(f"{what} is {shown(scenario)}; write a path, a text of YAML or a dict")
    if isinstance(scenario, str) and ("\n" in scenario or scenario.lstrip().startswith("{")):
        return {"text": _writable(what, scenario), "name": f"{what} (text)"}
    return {"path": path(what, scenario)}


def source(scenario: ScenarioLike, set: Settings, seed: Optional[int], timing_only: bool, before: Sequence[str] = ()) -> Dict[str, Any]:
    """The form that the extension takes. `before`: more sets, which come first."""
    return {**text_or_path(scenario), "sets": [*before, *sets(set)], "seed": None if seed is None else count("seed", seed, most=2**64 - 1),
            "timing_only": flag("timing_only", timing_only)}
