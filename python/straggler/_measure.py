"""Times of this machine, from a model itself."""
import statistics
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy

from ._errors import shown
from ._models import Arrays, _tensors, check_model, title_of
from ._source import count

Example = Tuple[Any, Any]


def _examples(batches: Sequence[Union[int, Example]], data: Optional[Arrays]) -> List[Example]:
    if isinstance(batches, (str, bytes)) or not hasattr(batches, "__iter__"):
        raise TypeError(f"batches is {shown(batches)}; write a list of sizes, with data, or of (inputs, labels)")
    made = []
    for each in batches:
        if hasattr(each, "__index__") and not getattr(each, "shape", ()):
            if data is None:
                raise ValueError(f"batches has the size {shown(each)}, and no samples to measure with; give data=straggler.Arrays(…), or "
                                 "(inputs, labels) for each batch")
            made.append(data._held.first(count("batches: a size", each, 1)))
        elif isinstance(each, (tuple, list)) and len(each) == 2:
            inputs, labels = numpy.asarray(each[0]), numpy.asarray(each[1])
            if inputs.ndim < 1 or len(inputs) == 0 or len(inputs) != len(labels):
                raise ValueError(f"batches has inputs of shape {inputs.shape} with labels of shape {labels.shape}; give as many of both")
            made.append((inputs, labels))
        else:
            raise TypeError(f"batches has {shown(each)}; write sizes, or (inputs, labels)")
    sizes = [len(inputs) for inputs, _ in made]
    if not sizes or len({*sizes}) < len(sizes):
        raise ValueError(f"batches has the sizes {sizes}; give different ones, at least one")
    return made


def measure(model: Any, batches: Sequence[Union[int, Example]], data: Optional[Arrays] = None, *,
            seconds: float = 1.0) -> Dict[str, Dict[int, str]]:
    """Times the model's gradients on this machine: a device's `compute`, as {"table": {64: "1.2ms", 256: "4.1ms"}}, for
    set={"devices.node.compute": straggler.measure(model, [64, 256], data)}.

    batches: sizes, of the first training samples of `data`; or (inputs, labels) of each batch, as `gradient` takes them.
    seconds: that each batch is measured for at least. A time is the median of five calls or more. The machine should do nothing else."""
    check_model(model)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
        raise ValueError(f"seconds is {shown(seconds)}; write a number above 0, at most 3600")
    examples = _examples(batches, data)
    weights = {name: array for name, array, _ in _tensors(title_of(model), model, 0)}
    times: List[List[float]] = [[] for _ in examples]
    for inputs, labels in examples:  # what a framework does once
        for _ in range(2):
            model.gradient({**weights}, inputs, labels)
    while any(len(each) < 5 or sum(each) < seconds for each in times):
        for (inputs, labels), each in zip(examples, times):  # in turns, so that all see the same machine
            if len(each) < 5 or sum(each) < seconds:
                start = time.perf_counter()
                model.gradient({**weights}, inputs, labels)
                each.append(time.perf_counter() - start)
    return {"table": {len(inputs): f"{statistics.median(each) * 1e6:.6g}us" for (inputs, _), each in zip(examples, times)}}
