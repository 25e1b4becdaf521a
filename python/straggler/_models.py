"""Models and data of yours: gradients from any framework, and arrays (docs/python.md)."""
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy

from . import _straggler
from ._content import content_of, held_by
from ._errors import ModelError, shown
from ._rules import check_versioned
from ._source import count, flow


def version_of(version: Any) -> int:
    return count("version", version, most=10**9)


def model(name: str, version: Any = None) -> Callable[[type], type]:
    """Makes a class a model, an object of which straggler.run(scenario, model=…) trains. It has

    initial(seed) -> {tensor: float32 array}: the weights of that seed, in the order of the forward pass.
    gradient(weights, inputs, labels) -> (loss, {tensor: array}): of the mean loss over the batch.
    evaluate(weights, inputs, labels) -> (sum of losses, number right).
    layers, statistics: if it has them, a list of layers (docs/networks.md) that its times follow from, and the names of tensors that are
    running statistics, for which `gradient` returns those of the batch.

    weights: {tensor: array}, copies that a model may change, and keep if it copies them.  inputs: [batch, …], float32, or int64 for tokens
    and other whole numbers.  labels: int64.
    It must give the same bits for the same arguments: results are kept under its name, its version, its source where Python has it, its
    initial weights and the data, so give another version when what it calls changes. The thread that calls straggler calls it."""
    check_versioned("model", name, version)
    known = (name, version_of(version))

    def register(cls: type) -> type:
        if not isinstance(cls, type):
            raise TypeError(f"@straggler.model decorates {shown(cls)}, which is no class")
        for method, arguments in (("initial", "seed"), ("gradient", "weights, inputs, labels"), ("evaluate", "weights, inputs, labels")):
            if not callable(getattr(cls, method, None)):
                raise TypeError(f"{cls.__name__} has no method {method}(self, {arguments}), which a model needs")
        setattr(cls, "_straggler_model", known)
        return cls
    return register


def _inputs(name: str, given: Any) -> numpy.ndarray:
    """float32, or bytes, or other whole numbers."""
    array = numpy.asarray(given)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is of dtype {array.dtype}; give numbers: floats, uint8 pixels, or whole numbers such as tokens")
    if array.ndim < 2 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; give [samples, numbers of a sample, …], as {name}[:, None] of one number each")
    if array.dtype == numpy.uint8:
        return array
    if array.dtype.kind in "iu":
        if max(-int(array.min()), int(array.max())) > 2**24:
            raise ValueError(f"{name} has whole numbers beyond 2^24, which float32 does not hold; give smaller ones, or floats")
        return array
    with numpy.errstate(over="ignore"):  # told below
        array = array.astype(numpy.float32)
    if not numpy.isfinite(array).all():
        sample = int(numpy.argwhere(~numpy.isfinite(array))[0][0])
        raise ValueError(f"{name} has a number that is not finite in float32, in sample {sample}; leave the sample out")
    return array


def _labels(name: str, given: Any, samples: int, classes: Optional[int]) -> numpy.ndarray:
    array = numpy.asarray(given)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (samples,):
        hint = f"{name}.argmax(1) of one-hot rows" if array.ndim == 2 and len(array) == samples else "one for each sample"
        raise ValueError(f"{name} has shape {array.shape}; give {samples} labels, {hint}")
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and (array != numpy.floor(array)).any()):
        raise TypeError(f"{name} is of dtype {array.dtype}; give whole numbers, 0 to classes - 1")
    most = 2**31 - 1 if classes is None else classes - 1
    if array.size and not 0 <= int(array.min()) <= int(array.max()) <= most:
        raise ValueError(f"{name} has labels from {int(array.min())} to {int(array.max())}; with {'any' if classes is None else classes} "
                         f"classes they are 0 to {most}")
    return array.astype(numpy.int32)


class Arrays:
    """Data of yours, for straggler.run(scenario, data=…): inputs [samples, …], as [samples, features] or [samples, channels, height,
    width], and a label for each sample, 0 to classes - 1; what numpy.asarray makes an array of. They are copied.

    Floats become float32. uint8 takes a quarter of the memory, and its pixels are 0 to 255 as they are: nothing is scaled. Other whole
    numbers, at most 2^24, reach a model in Python as int64.  classes: by default one more than the largest label."""

    def __init__(self, train_x: Any, train_y: Any, test_x: Any, test_y: Any, classes: Optional[int] = None):
        if classes is not None:
            classes = count("classes", classes, 1)
        inputs = [_inputs("train_x", train_x), _inputs("test_x", test_x)]
        if inputs[0].shape[1:] != inputs[1].shape[1:]:
            raise ValueError(f"train_x has samples of shape {inputs[0].shape[1:]}, test_x of {inputs[1].shape[1:]}; give the same")
        labels = [_labels(name, given, len(of), classes) for name, given, of in (("train_y", train_y, inputs[0]),
                                                                                ("test_y", test_y, inputs[1]))]
        if classes is None:
            classes = max(int(each.max()) for each in labels) + 1
        whole = all(each.dtype.kind in "iu" for each in inputs) and any(each.dtype != numpy.uint8 for each in inputs)
        if any(each.dtype != numpy.uint8 for each in inputs):
            inputs = [each.astype(numpy.float32) for each in inputs]
        self.shape: Tuple[int, ...] = inputs[0].shape[1:]  #: of a sample
        self.classes: int = classes
        inputs = [numpy.ascontiguousarray(each) for each in inputs]
        self._held = _straggler.HeldArrays(inputs[0], labels[0], inputs[1], labels[1], classes, whole)

    @property
    def content(self) -> str:
        """A hash of all of it, as scenarios name it: workload.data: {kind: arrays, content: …}."""
        return self._held.content

    def __repr__(self) -> str:
        return f"<straggler.Arrays of samples of shape {self.shape}, {self.classes} classes, {self.content[:8]}>"


def _source_of(model: Any) -> str:
    own = getattr(model, "_code", None)  # of model_from_torch
    return own() if own else content_of(type(model), getattr(model, "__dict__", None))


def _start(title: str, model: Any, seed: int) -> List[Tuple[str, numpy.ndarray, bool]]:
    """What `_tensors` gives, of an `initial` that follows from the seed alone."""
    own = hasattr(model, "_code")
    before = {} if own else held_by(model)
    rows = [(name, array.copy(), statistic) for name, array, statistic in _tensors(title, model, seed)]
    after = {} if own else held_by(model)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            raise ModelError(f"{title}: initial changes the attribute '{name}'; one object serves all runs, so return state as a tensor, "
                             "and keep none")
    again = {name: array for name, array, _ in _tensors(title, model, seed)}
    for name, array, _ in rows:
        if name not in again or again[name].shape != array.shape or again[name].tobytes() != array.tobytes():
            raise ModelError(f"{title}: the tensor '{name}' of initial({seed}), asked twice, differs; draw from the seed alone, as by "
                             "numpy.random.default_rng(seed)")
    return rows


def _tensors(title: str, model: Any, seed: int) -> List[Tuple[str, numpy.ndarray, bool]]:
    """[(name, array, whether it is a running statistic)] of initial(seed), checked."""
    made = model.initial(seed)
    if not isinstance(made, Mapping) or not made:
        raise ModelError(f"{title}: initial returns {shown(made)}; return {{name: float32 array}}")
    statistics = [*(getattr(model, "statistics", None) or ())]
    for name in statistics:
        if name not in made:
            raise ModelError(f"{title}: its `statistics` name the tensor {shown(name)}, which `initial` lacks; leave it out")
    rows = []
    for name, given in made.items():
        if not isinstance(name, str) or not name:
            raise ModelError(f"{title}: initial names a tensor {shown(name)}; name it by a text")
        array = numpy.asarray(given)
        if array.dtype != numpy.float32:
            raise ModelError(f"{title}: initial gives the tensor '{name}' in dtype {array.dtype}; give float32")
        if array.size == 0 or not numpy.isfinite(array).all():
            what = "has no numbers" if array.size == 0 else "has a number that is not finite"
            raise ModelError(f"{title}: the tensor '{name}' of initial {what}; give finite numbers")
        rows.append((name, numpy.ascontiguousarray(array).reshape(array.shape), name in statistics))
    if all(row[2] for row in rows):
        raise ModelError(f"{title}: all tensors of initial are `statistics`; give parameters")
    return rows


def title_of(model: Any) -> str:
    name, version = model._straggler_model
    return f"the model '{name}', version {version}"


def check_model(model: Any) -> None:
    """Raises TypeError with what would be right."""
    if isinstance(model, type) and hasattr(model, "_straggler_model"):
        raise TypeError(f"model is the class {model.__name__}; give an object of it: model={model.__name__}()")
    if not hasattr(model, "_straggler_model"):
        torch = any(cls.__module__.startswith("torch.nn") for cls in type(model).__mro__)
        remedy = "straggler.model_from_torch(module, loss)" if torch else "an object of a class under @straggler.model('name', version=1)"
        raise TypeError(f"model is {shown(model)}; give {remedy}")


class Given(NamedTuple):
    """What a scenario is given: for the extension, and the settings that name it there."""
    model: Optional[Dict[str, Any]]
    data: Optional[_straggler.HeldArrays]
    sets: List[str]

    def how(self) -> Dict[str, Any]:
        return {"model": self.model, "data": self.data}


def given(model: Any, data: Optional[Arrays]) -> Given:
    described, sets = None, []
    if model is not None:
        check_model(model)
        name, version = model._straggler_model
        layers, title = getattr(model, "layers", None), title_of(model)
        if isinstance(layers, os.PathLike):
            with open(layers, encoding="utf-8") as file:
                layers = file.read()
        described = {"model": model, "name": name, "version": str(version), "source": _source_of(model),
                     "initial": lambda seed: _start(title, model, seed),
                     "layers": layers if layers is None or isinstance(layers, str) else flow([*layers], "layers")}
        sets.append("workload.model=" + flow({"kind": "python", "name": name, "version": version}))
    if data is not None:
        if not isinstance(data, Arrays):
            raise TypeError(f"data is {shown(data)}; give straggler.Arrays(train_x, train_y, test_x, test_y)")
        sets.append("workload.data~partition,reshuffle,augment=" + flow({"kind": "arrays", "content": data.content}))
    return Given(described, None if data is None else data._held, sets)
