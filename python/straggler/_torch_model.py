"""A PyTorch module as a model. PyTorch is imported only here, when it is called."""
import copy
import re
import zlib
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

import numpy

from ._content import content_of
from ._errors import shown
from ._layers import _torch
from ._models import version_of
from ._rules import check_versioned
from ._source import word

if TYPE_CHECKING:
    import torch

_MOMENTUM = 0.1  # with which runs follow running statistics, PyTorch's default
_EVALUATED = 32  # samples at once on a CPU: larger feature maps come from the system and go back to it in each layer, in up to 20 times the time


class TorchModel:
    """What model_from_torch returns: an nn.Module with its loss."""

    def __init__(self, module: Any, loss: Callable[..., Any], name: Optional[str], version: Any):
        self._torch = torch = _torch()
        self._make: Optional[Callable[[], Any]] = None
        self._loss = loss
        if not isinstance(module, torch.nn.Module):
            if not callable(module):
                raise TypeError(f"module is {shown(module)}; give an nn.Module, or a function without arguments that makes one")
            self._make = module
        if not callable(loss) or isinstance(loss, type):
            raise TypeError(f"loss is {shown(loss)}; give a function of (outputs, labels), as torch.nn.functional.cross_entropy")
        if getattr(loss, "reduction", "mean") != "mean":
            raise ValueError(f"loss is {shown(loss)}; give one that is the mean over the batch: reduction='mean'")
        self._module = copy.deepcopy(module) if self._make is None else self._made(0)
        self._tensors = {each: parameter for each, parameter in self._module.named_parameters() if parameter.requires_grad}
        if not self._tensors:
            raise ValueError("module has no parameter to train; give one with requires_grad=True")
        self._trained = {**self._tensors}
        self._parameters = [*self._tensors.values()]
        self._norms: List[Any] = []
        self.statistics: List[str] = []  #: names of the running statistics
        for path, layer in self._module.named_modules():
            if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm) and layer.running_mean is not None:
                if layer.momentum != _MOMENTUM:
                    raise ValueError(f"{path}: momentum is {layer.momentum}, and runs follow running statistics with {_MOMENTUM}; set it")
                self._norms.append(layer)
                for buffer in ("running_mean", "running_var"):
                    self.statistics.append(f"{path}.{buffer}" if path else buffer)
                    self._tensors[self.statistics[-1]] = getattr(layer, buffer)
        for each, tensor in self._tensors.items():
            if tensor.dtype != torch.float32:
                raise ValueError(f"{each}: has dtype {tensor.dtype}; runs compute in float32, so give module.float()")
        self._device = self._parameters[0].device
        self._on_cpu = self._device.type == "cpu"
        self._own = [(tensor, tensor.data) for tensor in self._tensors.values()]
        self._start = self._values(self._module)
        self._draws: Optional[bool] = None  # whether a gradient draws random numbers; None: not seen yet
        module_name = type(self._module).__name__
        name = re.sub(r"^[^A-Za-z]*", "", module_name).lower() or "module" if name is None else word("name", name)
        check_versioned("model_from_torch", name, version)
        self._straggler_model = (name, version_of(version))

    def _made(self, seed: int) -> Any:
        assert self._make is not None
        with self._torch.random.fork_rng(devices=[]):
            self._torch.manual_seed(seed)
            made = self._make()
        if not isinstance(made, self._torch.nn.Module):
            raise TypeError(f"module is a function that returns {shown(made)}; return an nn.Module")
        return made

    def _values(self, module: Any) -> Dict[str, numpy.ndarray]:
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return {each: state[each].detach().cpu().numpy().copy() for each in self._tensors}

    def _code(self) -> str:
        """Of the module, its loss, and what is not trained: a part of each key."""
        fixed = {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}
        kept = {each: tensor for each, tensor in fixed.items() if each not in self._tensors and not each.endswith("num_batches_tracked")}
        own = ("training", "_parameters", "_buffers", "_modules")
        layers = [(path, type(each), {name: value for name, value in vars(each).items() if name not in own})
                  for path, each in self._module.named_modules()]
        return content_of(repr(self._module), layers, kept, self._loss, self._make, _EVALUATED)

    def initial(self, seed: int) -> Dict[str, numpy.ndarray]:
        """The module's own weights, for any seed; or those of a module that is made for the seed."""
        return self._start if self._make is None else self._values(self._made(seed))

    def _moved(self, array: numpy.ndarray) -> Any:
        tensor = self._torch.from_numpy(array)
        return tensor if self._on_cpu else tensor.to(self._device)

    def _mean_loss(self, outputs: Any, labels: Any) -> Any:
        loss = self._loss(outputs, labels)
        if not isinstance(loss, self._torch.Tensor) or loss.dim() > 0:
            raise TypeError(f"loss returns {shown(loss)}; return a tensor of one number, the mean over the batch")
        return loss

    def _hold(self, weights: Mapping[str, numpy.ndarray], train: bool) -> None:
        """The module has these weights, until `_let_go`: no copies on a CPU. In training a batch's own statistics replace the module's."""
        if self._module.training != train:
            self._module.train(train)
        for each, tensor in (self._trained if train else self._tensors).items():
            tensor.data = self._moved(weights[each])

    def _let_go(self) -> None:
        for tensor, data in self._own:
            tensor.data = data

    def gradient(self, weights: Mapping[str, numpy.ndarray], inputs: numpy.ndarray, labels: numpy.ndarray
                 ) -> Tuple[float, Dict[str, numpy.ndarray]]:
        """(loss, {tensor: array}) of the mean loss. Random numbers, as of dropout, follow from the weights and samples."""
        random = self._torch.random
        if self._draws is False:
            return self._gradient(weights, inputs, labels)
        before = random.get_rng_state()
        try:
            seed = 0
            for array in (labels, inputs[:8], *weights.values()):
                seed = zlib.crc32(numpy.ascontiguousarray(array).reshape(-1)[:4096], seed)
            self._torch.manual_seed(seed)
            start = random.get_rng_state()
            made = self._gradient(weights, inputs, labels)
            if self._draws is None and self._on_cpu:
                self._draws = not self._torch.equal(start, random.get_rng_state())
            return made
        finally:
            random.set_rng_state(before)

    def _gradient(self, weights: Mapping[str, numpy.ndarray], inputs: numpy.ndarray, labels: numpy.ndarray
                  ) -> Tuple[float, Dict[str, numpy.ndarray]]:
        torch = self._torch
        try:
            for norm in self._norms:
                norm.momentum = 1.0  # running statistics become the batch's
            self._hold(weights, True)
            with torch.enable_grad():
                loss = self._mean_loss(self._module(self._moved(inputs)), self._moved(labels))
                made = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        finally:
            self._let_go()
            for norm in self._norms:
                norm.momentum = _MOMENTUM
        gradients = {each: numpy.zeros(tuple(tensor.shape), "f4") if of is None else (of if self._on_cpu else of.cpu()).numpy()
                     for (each, tensor), of in zip(self._trained.items(), made)}
        for each in self.statistics:
            gradients[each] = self._tensors[each].detach().cpu().numpy()
        return float(loss), gradients

    def evaluate(self, weights: Mapping[str, numpy.ndarray], inputs: numpy.ndarray, labels: numpy.ndarray) -> Tuple[float, int]:
        """(sum of losses, number right). Right is the largest output, or, of a single one, whether it is above 0."""
        try:
            self._hold(weights, False)
            losses, right = 0.0, 0
            rows = _EVALUATED if self._on_cpu else len(inputs)
            with self._torch.no_grad():
                for first in range(0, len(inputs), rows):
                    some, of = self._evaluated(inputs[first:first + rows], labels[first:first + rows])
                    losses, right = losses + some, right + of
            return losses, right
        finally:
            self._let_go()

    def _evaluated(self, inputs: numpy.ndarray, labels: numpy.ndarray) -> Tuple[float, int]:
        outputs, wanted = self._module(self._moved(inputs)), self._moved(labels)
        loss = float(self._mean_loss(outputs, wanted)) * len(inputs)
        if outputs.dim() == wanted.dim() or outputs.shape[-1] == 1:
            right = (outputs.reshape(wanted.shape) > 0) == (wanted > 0)
        else:
            right = outputs.argmax(-1 if outputs.shape[:-1] == wanted.shape else 1) == wanted
        return loss, int(right.sum())

    def __repr__(self) -> str:
        return "<straggler.model_from_torch of {}, version {}>".format(*self._straggler_model)


def model_from_torch(module: Union["torch.nn.Module", Callable[[], "torch.nn.Module"]], loss: Callable[..., Any], *,
                     name: Optional[str] = None, version: int = 1) -> TorchModel:
    """An nn.Module as a model for straggler.run(scenario, model=…). The module is copied with its weights, which each run starts from; a
    function without arguments (as a class) makes a module for each seed.

    loss: of (outputs, labels), the mean over the batch, as torch.nn.functional.cross_entropy.  name: by default that of the module's
    class.  version: another one where the module computes something else in a way that its source does not show.
    It trains where its parameters are, on a CPU or GPU. Batch norm's running statistics are followed; dropout draws from weights and
    samples. A gradient that PyTorch does not compute to the same bits twice is refused: torch.use_deterministic_algorithms(True)."""
    return TorchModel(module, loss, name, version)
