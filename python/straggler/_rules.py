"""Arithmetic in numpy: rules over vectors, and optimizers."""
import re
from typing import Any, Callable, Dict, Optional, Sequence, Union

import numpy

from . import _straggler
from ._schemes import check_decorated, check_function
from ._source import count, flow, plain, word

MOST_STATES = 32  #: each is another call of the function, with all vectors


def check_versioned(decorator: str, name: Any, version: Any) -> str:
    """The version as a text. Raises TypeError or ValueError where the name or the version is none."""
    check_decorated(decorator, name)
    if version is None:
        raise TypeError(f"@straggler.{decorator}('{name}', …) needs a version, which is a part of each key; write version=1")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise ValueError(f"'{name}' is no name; write letters, digits, - and _, a letter first")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", str(version)):
        raise ValueError(f"'{version}' is no version; write letters, digits, ., - and _")
    return str(version)


def _checked(who: str, made: Any, like: numpy.ndarray) -> numpy.ndarray:
    """What a function returned, if it is a vector of numbers like its first input."""
    wanted = f"return an array of {len(like)} numbers, as its inputs have"
    array = None if made is None else numpy.asarray(made)
    if array is None or array.dtype.kind not in "fiub":
        raise TypeError(f"{who} returns {'None' if array is None else f'{type(made).__name__} of {array.dtype}'}; {wanted}")
    if array.shape != like.shape:
        raise ValueError(f"{who} returns {f'an array of another shape, {array.shape}' if array.ndim else f'the number {made!r}'}; {wanted}")
    return array


def rule(name: str, version: Union[None, str, int] = None) -> Callable[[Callable[..., Any]], _straggler.Rule]:
    """Makes a function of arrays a rule for node.apply(rule, vectors, scalars): it is called with the arrays, then the scalars, and returns
    an array of the same length. It must give the same numbers for the same inputs: a value's key is made of this name and this version, so
    give another version when the function changes."""
    named = check_versioned("rule", name, version)

    def register(function: Callable[..., Any]) -> _straggler.Rule:
        check_function("rule", function)
        return _straggler.register_rule(name, named, lambda arrays, scalars, output: _checked(f"rule {name}", function(*arrays, *scalars),
                                                                                              arrays[0]))
    return register


def optimizer(name: str, version: Union[None, str, int] = None, *, states: int = 0,
              parameters: Optional[Dict[str, Union[bool, int, float]]] = None,
              summary: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as an optimizer of this process: step(weights, gradient, states, rate, **parameters) returns the new weights, or
    (weights, [states]) if it has states, 32 at most: vectors that are zeros at first. It is called once for each vector that it makes.
    `rate` follows the scenario's schedule.

    parameters: {name: default}, numbers or booleans; learning_rate is there anyway. Versions are as in `rule`."""
    named = check_versioned("optimizer", name, version)
    states, summary = count("states", states, most=MOST_STATES), word("summary", summary)
    if parameters is not None and not isinstance(parameters, dict):
        raise TypeError(f"parameters is {parameters!r:.80}; write names and defaults, as {{'momentum': 0.9}}")
    declared = {each: plain(default) for each, default in (parameters or {}).items()}
    for each, default in declared.items():
        if not isinstance(default, (bool, int, float)) or each == "learning_rate":
            raise TypeError(f"{each}={default!r} declares no parameter of an optimizer; write a number or a boolean")
        if each in ("kind", "weights", "gradient", "states", "rate") or not str(each).isidentifier():
            raise ValueError(f"{each!r} cannot name a parameter of an optimizer, an argument of its function; choose another one")

    def kind(default: Any) -> str:
        return "boolean" if isinstance(default, bool) else "count" if isinstance(default, int) else "number"

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        check_function("optimizer", function)

        def step(arrays: Sequence[numpy.ndarray], scalars: Sequence[float], output: int) -> Any:
            weights, gradient, *before = arrays
            rate, *values = scalars
            if not before:
                before = [numpy.zeros_like(weights) for _ in range(states)]
            made = function(weights, gradient, before, rate, **dict(zip(declared, values)))
            who = f"optimizer {name}"
            if states == 0:
                return _checked(who, made, weights)
            if not isinstance(made, (tuple, list)) or len(made) != 2 or not hasattr(made[1], "__len__"):
                raise TypeError(f"{who} has {states} vectors of state and returns {type(made).__name__}; return (weights, [states])")
            new, after = made
            if len(after) != states:
                raise ValueError(f"{who} returns {len(after)} vectors of state, not {states}")
            return _checked(who, new if output == 0 else after[output - 1], weights)
        _straggler.register_optimizer(name, named, states, [(each, kind(default), flow(default)) for each, default in declared.items()],
                                      summary or f"an optimizer in Python, version {named}", step)
        return function
    return register
