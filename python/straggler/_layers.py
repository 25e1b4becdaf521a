"""A PyTorch module as a list of layers (docs/networks.md), its weights in files and out of runs, and its cost. PyTorch is imported only
here, when one of the functions is called."""
import contextlib
import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Set, Tuple, Union

import numpy

from ._errors import Error, shown
from ._source import flag, path as path_of

if TYPE_CHECKING:
    import torch
    from ._torch_lines import Line

Layer = Union[str, Dict[str, Any]]

_OTHER_WAY = ("As it is, it trains by straggler.run(…, model=straggler.model_from_torch(module, loss)), and "
              "set={'workload.cost.model': straggler.cost_model(module, example)} has its times (docs/networks.md).")


class NotExpressible(Error, ValueError):
    """A module computes what no line of a list does. `problems` has a sentence for each place: module, operation, what would be right."""

    def __init__(self, problems: List[str]):
        super().__init__("\n".join([*problems, _OTHER_WAY]))
        self.problems = problems


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ModuleNotFoundError("PyTorch is missing for this Python, and a module is one of its objects; install it: apt install "
                                  "python3-torch for Debian's python3, or pip install torch", name="torch") from None
    return torch


def _without_onednn(torch: Any) -> Any:
    """Debian's PyTorch shares oneDNN with the extension, which confines it to its kernels' instructions before the first use."""
    return torch.backends.mkldnn.flags(enabled=False)


def _unwrapped(torch: Any, module: Any) -> Any:
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module is {shown(module)}; give an nn.Module")
    for wrapped in ("module", "_orig_mod"):  # DataParallel, DistributedDataParallel; torch.compile
        if type(module).__name__ in ("DataParallel", "DistributedDataParallel", "OptimizedModule") and hasattr(module, wrapped):
            module = getattr(module, wrapped)
    return module


@contextlib.contextmanager
def _as_in_training(torch: Any, module: Any) -> Iterator[Callable[[Any], bool]]:
    """Within it the module runs as it trains; then modes, buffers and random numbers are those from before. Gives whether a module
    of it trains."""
    modes = {each: each.training for each in module.modules()}
    kept = {name: buffer.clone() for name, buffer in module.named_buffers()}
    whole = not module.training  # in evaluation
    try:
        if whole:
            module.train()
        with torch.random.fork_rng(), _without_onednn(torch):
            yield lambda each: whole or modes[each]
    finally:
        for each, mode in modes.items():
            each.training = mode
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                if name in kept and kept[name].shape == buffer.shape:
                    buffer.copy_(kept[name])


class _Network:
    """The lines that a module's output follows from, named."""

    def __init__(self, module: Any, example: Any, timing_only: bool):
        torch = _torch()
        module = _unwrapped(torch, module)
        if isinstance(example, (tuple, list, dict)):
            raise TypeError(f"example is {len(example)} inputs; a list of layers reads one, so wrap the module in one of one input, or use "
                            "model_from_torch and cost_model (docs/networks.md)")
        if not isinstance(example, torch.Tensor):
            raise TypeError(f"example is {shown(example)}; give a tensor with a batch of inputs, as torch.zeros(2, 3, 32, 32)")
        if example.dim() < 2 or example.shape[0] == 0:
            raise TypeError(f"example is a tensor of shape {[*example.shape]}; give a batch of inputs, as torch.zeros(2, 3, 32, 32)")
        tried = []
        for channels_last in (False, True) if example.dim() == 3 else (False,):  # a sequence [batch, places, channels]
            self.lines, problems, known = self._traced(torch, module, example, channels_last, timing_only)
            if not problems:
                break
            tried.append((known, problems))
        else:
            raise NotExpressible(list(dict.fromkeys(max(tried, key=lambda each: each[0])[1])))  # of the one that got further
        self.names = self._named()

    def _traced(self, torch: Any, module: Any, example: Any, channels_last: bool, timing_only: bool
                ) -> Tuple[List["Line"], List[str], int]:
        """The lines that the output follows from, the problems, and how many lines were found."""
        from ._torch_trace import Tracer
        sample = torch.cat([example[:1], example[1:2] if len(example) > 1 else example[:1]]).detach()
        with _as_in_training(torch, module) as trains, torch.no_grad():
            tracer = Tracer(module, sample, channels_last, trains)
            last = tracer.result()
        self.tensors = tracer.tensors
        lines = [] if last is None else _reached(tracer.lines.all, last)
        problems = tracer.problems + ([] if timing_only else tracer.differing)
        _tie(lines, tracer.tensors)
        if last is not None and not tracer.problems:
            problems += _unlike(torch, lines, dict(module.named_parameters()), tracer.tensors)
        self.input = tracer.lines.input
        return lines, problems, len(tracer.lines.all)

    def _named(self) -> Dict["Line", str]:
        """Of each line: its module's path where it has tensors, a word of its own where another line refers to it, else its number."""
        taken: Set[str] = {"input"}
        names: Dict["Line", str] = {}

        def free(wished: str) -> str:
            name, number = wished, 2
            while name in taken:
                name, number = f"{wished}{number}" if not wished[-1].isdigit() else f"{wished}_{number}", number + 1
            taken.add(name)
            return name
        for line in self.lines:
            if line.tensors:
                names[line] = free(line.path or line.kind)
        apart = {line.parameters["tied"] for line in self.lines if "tied" in line.parameters}
        apart |= {given for number, line in enumerate(self.lines) for given in line.inputs
                 if given is not self.input and (len(line.inputs) > 1 or self.lines[number - 1] is not given)}
        for number, line in enumerate(self.lines):
            if line not in names:
                names[line] = free(line.kind) if line in apart or str(number) in taken else free(str(number))
        names[self.input] = "input"
        return names

    def list(self) -> List[Layer]:
        return [self._line(number) for number in range(len(self.lines))]

    def _line(self, number: int) -> Layer:
        line = self.lines[number]
        name = self.names[line]
        joins = line.kind in ("add", "concat")
        written: Dict[str, Any] = {line.kind: [self.names[each] for each in line.inputs]} if joins else {
            key: self.names.get(each, each) if key == "tied" else each for key, each in line.parameters.items()}
        kind = "global_average_pool" if line.kind == "average_pool" and not line.parameters else line.kind
        before = self.lines[number - 1] if number else self.input
        rest: Dict[str, Any] = {} if name == str(number) else {"name": name}
        if not joins and line.inputs[0] is not before:
            rest["from"] = self.names[line.inputs[0]]
        if not written and not rest:
            return kind
        return {**({} if kind in written else {kind: {}}), **written, **rest}

    def weights(self, get: Any) -> Dict[str, Any]:
        return {f"{self.names[line]}.{name}": source.made(get) for line in self.lines for name, source in line.tensors.items()}


def _reached(lines: List["Line"], last: "Line") -> List["Line"]:
    reached, open_lines = {last}, [last]
    while open_lines:
        for line in open_lines.pop().inputs:
            if line not in reached:
                reached.add(line)
                open_lines.append(line)
    return [line for line in lines if line in reached]


def _tie(lines: List["Line"], tensors: Mapping[str, Any]) -> None:
    """An output whose weight is that of the embedding reads it there."""
    owners = {id(tensors[line.tensors["weight"].parts[0].name]): line for line in lines if line.kind == "embedding"}
    for line in lines:
        part = line.tensors["weight"].parts[0] if line.kind == "linear" else None
        owner = owners.get(id(tensors[part.name])) if part and part.index is None else None
        if owner is not None:
            line.parameters["tied"] = owner
            del line.tensors["weight"]


def _unlike(torch: Any, lines: List["Line"], parameters: Mapping[str, Any], tensors: Mapping[str, Any]) -> List[str]:
    """Where the module's parameters are not those of the lines, each number once."""
    users: Dict[int, List[Tuple["Line", Any]]] = {}
    for line in lines:
        for source in line.tensors.values():
            for part in source.parts:
                users.setdefault(id(tensors[part.name]), []).append((line, part))
    problems = []
    for name, parameter in parameters.items():
        used = users.get(id(parameter), [])
        met = torch.zeros(parameter.numel(), dtype=torch.int32)
        for _, part in used:
            met += 1 if part.index is None else torch.bincount(part.index.reshape(-1), minlength=parameter.numel()).int()
        if not used:
            problems.append(f"{name}: parameter is read by no layer; remove it, or use it")
        elif int(met.max()) > 1:
            names = sorted({part.name.rpartition(".")[0] or part.name for _, part in used})
            problems.append(f"{name}: parameter is read more than once (by {' and '.join(names)}); a list has no shared weights, so give "
                            f"each place a module of its own" if len(used) > 1 else
                            f"{name}: parameter has a row that is added at several places; a list adds to each place a row of its own, so "
                            f"leave it out")
        elif int(met.min()) == 0:
            problems.append(f"{name}: parameter of shape {[*parameter.shape]} is read in part, {int(met.sum())} of {parameter.numel()} "
                            f"numbers; give an example of full length, or make it as long as a sample")
        elif not parameter.requires_grad:
            problems.append(f"{name}: parameter has requires_grad=False, and all parameters here train; set it to True")
    return problems


def layers(module: "torch.nn.Module", example: "torch.Tensor", timing_only: bool = False) -> List[Layer]:
    """The list of layers of a PyTorch module, for `workload.model: {kind: layers, layers: …}`: texts and dicts, YAML as they are.

    example: a batch of its inputs, whole numbers if they are tokens. Its numbers play no part, its shape does.
    timing_only: also where a list computes other numbers in the same time and bytes, as with another eps of a norm.
    It follows the module's forward by torch.fx, on two samples, as in training; the module stays as it is. Raises NotExpressible with
    all that no line does."""
    if not isinstance(timing_only, (bool, numpy.bool_)) and hasattr(timing_only, "shape"):
        raise TypeError("layers(module, example) reads one example; a list of layers has one input, and labels play no part")
    return _Network(module, example, flag("timing_only", timing_only)).list()


def cost_model(module: "torch.nn.Module", example: Any) -> Dict[str, Any]:
    """What any module costs, for `workload.cost.model`: {kind: sizes, layers: …}. Its forward runs once, on the example, as in training;
    the module stays as it is.

    example: a batch of its inputs; several as a tuple, those with names as a dict. The first dimension is the batch.
    Parameters are those that train, each once. FLOPs: of one sample, forward, 2 for each multiply-add of matrix products and convolutions.
    Activations: bytes that autograd keeps for backward, by 4. A row is a module with parameters; what has none is in the row before."""
    torch = _torch()
    module = _unwrapped(torch, module)
    args = example if isinstance(example, (tuple, list)) else () if isinstance(example, dict) else (example,)
    named = example if isinstance(example, dict) else {}
    inputs = [each for each in [*args, *named.values()] if isinstance(each, torch.Tensor)]
    if not inputs or inputs[0].dim() == 0 or inputs[0].shape[0] == 0:
        raise TypeError(f"example is {shown(example)}; give a batch of inputs, as torch.zeros(2, 3, 32, 32), or a tuple or dict of several")
    from ._torch_cost import counted
    with _as_in_training(torch, module):
        rows, unknown = counted(module, tuple(args), named, inputs)
    if not any(row.parameters for row in rows):
        raise ValueError("module has no parameter to train; give one with requires_grad=True")
    if unknown:
        warnings.warn(f"cost_model: the FLOPs of {', '.join(unknown)} are not counted; they are not PyTorch's own operations", stacklevel=2)
    batch = len(inputs[0])
    return {"kind": "sizes", "input_bytes": f"{4 * sum(each[0].numel() for each in inputs if len(each) == batch)}B", "layers": [
        {"name": row.name, "parameters": row.parameters, "flops": round(2 * row.multiply_adds / batch),
         "activations": round(row.kept_bytes / 4 / batch), "operations": row.operations} for row in rows]}


def save_weights(module: "torch.nn.Module", path: Union[str, "os.PathLike[str]"], example: "torch.Tensor") -> None:
    """Writes the module's weights and running statistics as a safetensors file, under the names of the list that layers(module, example)
    gives: for `workload.model.weights`."""
    network = _Network(module, example, False)
    tensors = {name: made.detach().cpu().float().contiguous().numpy().astype("<f4")
               for name, made in network.weights(network.tensors.__getitem__).items()}
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": [*tensor.shape], "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path_of("path", path), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


def load_weights(module: "torch.nn.Module", weights: Mapping[str, numpy.ndarray], example: "torch.Tensor") -> None:
    """Puts weights of a run, as Run.weights has them, into the module that its list came from."""
    torch = _torch()
    network = _Network(module, example, False)
    places = network.weights(lambda name: torch.arange(network.tensors[name].numel()))
    for name, place in places.items():
        given = numpy.shape(weights[name]) if name in weights else None
        if given != tuple(place.shape):
            what = f"no tensor {name}" if given is None else f"{name} of shape {[*given]}"
            raise ValueError(f"weights have {what}, and the module needs shape {[*place.shape]}; give those of a run with its list")
    with torch.no_grad():
        for line in network.lines:
            for name, source in line.tensors.items():
                given = torch.from_numpy(numpy.array(weights[f"{network.names[line]}.{name}"], "f4")).reshape(-1)
                for part in source.parts:
                    tensor = network.tensors[part.name]
                    index = torch.arange(tensor.numel()) if part.index is None else part.index.reshape(-1)
                    flat = tensor.detach().reshape(-1).clone()
                    flat[index.to(flat.device)] = given[:index.numel()].to(flat)
                    tensor.copy_(flat.reshape(tensor.shape))
                    given = given[index.numel():]
