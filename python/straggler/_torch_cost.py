"""What a module costs, counted while PyTorch runs it: multiply-adds of its products, numbers that autograd keeps, operations."""
import math
from typing import Any, Callable, Dict, List, Mapping, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


def _matrices(a: torch.Tensor, b: torch.Tensor) -> int:
    """Of a @ b, [..., n, k] and [..., k, m] or [k]."""
    return a.numel() * (b.shape[-1] if b.dim() > 1 else 1)


def _convolution(given: Any, weight: torch.Tensor, transposed: bool, made: torch.Tensor) -> int:
    return (given if transposed else made).numel() * weight[0].numel()


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> int:
    return math.prod(query.shape[:-1]) * key.shape[-2] * (key.shape[-1] + value.shape[-1])


# Multiply-adds of the functions that everything else consists of, by their arguments and what they make.
PRODUCTS: Dict[str, Callable[[Any, Any], int]] = {
    **dict.fromkeys(["mm", "bmm", "mv", "dot", "vdot"], lambda given, made: _matrices(given[0], given[1])),
    **dict.fromkeys(["addmm", "baddbmm", "addmv", "addbmm", "_addmm_activation"], lambda given, made: _matrices(given[1], given[2])),
    **dict.fromkeys(["convolution", "_convolution"], lambda given, made: _convolution(given[0], given[1], given[6], made)),
    **dict.fromkeys([f"_scaled_dot_product_{form}" for form in (
        "flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu", "fused_attention_overrideable")],
        lambda given, made: _attention(*given[:3])),
}


def _memory(tensor: torch.Tensor) -> int:
    """Names the memory that it lies in, which its views share."""
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage())._cdata


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes() if hasattr(tensor, "untyped_storage") else tensor.storage().nbytes()


class Row:
    def __init__(self, name: str, parameters: int):
        self.name, self.parameters = name, parameters
        self.multiply_adds = self.kept_bytes = self.operations = 0


class Counter(TorchDispatchMode):
    """`rows`: of the modules whose parameters are read, in the order of the forward pass. What reads none belongs to the row before."""

    def __init__(self, parameters: Mapping[str, torch.Tensor], inputs: List[torch.Tensor], own: str):
        """`own`: owner of the outermost module's own parameters; empty: each is one by itself, as a class token."""
        super().__init__()
        self.rows: List[Row] = []
        self.unknown: List[str] = []  # operations that are not PyTorch's own, whose products are not counted
        self._owners: Dict[int, str] = {}
        self._sizes: Dict[str, int] = {}
        for name, each in parameters.items():
            owner = self._owners[_memory(each)] = name.rpartition(".")[0] or own or name
            self._sizes[owner] = self._sizes.get(owner, 0) + (each.numel() if each.requires_grad else 0)
        self._seen: Dict[str, int] = {}  # rows of each owner
        self._owner = ""
        self._kept = {_memory(each) for each in inputs}

    def _row_of(self, owner: str) -> Row:
        if not self.rows:
            self.rows.append(Row("", 0))  # until a parameter is read
        if owner and owner != self._owner:
            number = self._seen[owner] = self._seen.get(owner, 0) + 1
            if self._owner:
                self.rows.append(Row("", 0))
            self.rows[-1].name = owner if number == 1 else f"{owner} {number}"
            self.rows[-1].parameters = self._sizes[owner] if number == 1 else 0
            self._owner = owner
        return self.rows[-1]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        name, _, _ = function.__name__.partition(".")
        given = [each for each in tree_flatten([args, kwargs or {}])[0] if isinstance(each, torch.Tensor)]
        places = [_memory(each) for each in given]
        row = self._row_of(next((self._owners[place] for place in places if place in self._owners), ""))
        if name in PRODUCTS:
            row.multiply_adds += PRODUCTS[name](args, made)
        elif function.namespace != "aten":
            self.unknown.append(function.__name__)
        shows = isinstance(made, torch.Tensor) and _memory(made) in places and not name.endswith("_")
        row.operations += not shows
        return made

    def keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """Autograd keeps it for backward."""
        place = _memory(tensor)
        if place not in self._kept and place not in self._owners and self.rows:
            self._kept.add(place)  # the tensor lives as long as the graph, so no other one gets its place
            self.rows[-1].kept_bytes += _bytes(tensor)
        return tensor

    def finish(self) -> List[Row]:
        for owner in self._sizes:
            if owner not in self._seen:
                self.rows.append(Row(owner, self._sizes[owner]))  # read by nothing: sent all the same
        return self.rows


def counted(module: torch.nn.Module, args: Tuple[Any, ...], named: Dict[str, Any], inputs: List[torch.Tensor]
            ) -> Tuple[List[Row], List[str]]:
    """The rows of a run of the module, of the whole batch; and names of operations whose products are not known."""
    parameters = dict(module.named_parameters())
    for name, each in parameters.items():
        if isinstance(each, torch.nn.parameter.UninitializedParameter):
            raise ValueError(f"module has the lazy parameter '{name}', which has no shape; call module(example) once before")
    counter = Counter(parameters, inputs, "" if any(True for _ in module.children()) else type(module).__name__)
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(counter.keep, lambda tensor: tensor), counter:
        result = module(*args, **named)
    rows = counter.finish()
    del result
    return rows, sorted({*counter.unknown})
