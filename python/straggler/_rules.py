"""Arithmetic in numpy: rules over vectors, and optimizers."""
import re
from typing import Any, Callable, Dict, Optional, Sequence, Union

import numpy

from . import _straggler
from ._source import flow


def _check(name: str, version: Any) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise ValueError(f"'{name}' is no name; write letters, digits, - and _, a letter first")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", str(version)):
        raise ValueError(f"'{version}' is no version; write letters, digits, ., - and _")
    return str(version)


def rule(name: str, version: Union[str, int]) -> Callable[[Callable[..., Any]], _straggler.Rule]:
    """Makes a function of arrays a rule for node.apply(rule, vectors, scalars): it is called with the arrays, then the scalars, and returns
    an array of the same length. It must give the same numbers for the same inputs: a value's key is made of this name and this version, so
    give another version when the function changes."""
    named = _check(name, version)

    def register(function: Callable[..., Any]) -> _straggler.Rule:
        return _straggler.register_rule(name, named, lambda arrays, scalars, output: function(*arrays, *scalars))
    return register


def optimizer(name: str, version: Union[str, int], *, states: int = 0, parameters: Optional[Dict[str, Union[bool, int, float]]] = None,
              summary: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as an optimizer of this process: step(weights, gradient, states, rate, **parameters) returns the new weights, or
    (weights, [states]) if it has states: vectors that are zeros at first. `rate` follows the scenario's schedule.

    parameters: {name: default}, numbers or booleans; learning_rate is there anyway. Versions are as in `rule`."""
    named = _check(name, version)
    declared = parameters or {}
    for each, default in declared.items():
        if not isinstance(default, (bool, int, float)) or each == "learning_rate":
            raise TypeError(f"{each}={default!r} declares no parameter of an optimizer; write a number or a boolean")

    def kind(default: Any) -> str:
        return "boolean" if isinstance(default, bool) else "count" if isinstance(default, int) else "number"

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(arrays: Sequence[numpy.ndarray], scalars: Sequence[float], output: int) -> Any:
            weights, gradient, *before = arrays
            rate, *values = scalars
            if not before:
                before = [numpy.zeros_like(weights) for _ in range(states)]
            made = function(weights, gradient, before, rate, **dict(zip(declared, values)))
            if states == 0:
                return made
            new, after = made
            if len(after) != states:
                raise ValueError(f"optimizer {name} returns {len(after)} vectors of state, not {states}")
            return new if output == 0 else after[output - 1]
        _straggler.register_optimizer(name, named, states, [(each, kind(default), flow(default)) for each, default in declared.items()],
                                      summary or f"an optimizer in Python, version {named}", step)
        return function
    return register
