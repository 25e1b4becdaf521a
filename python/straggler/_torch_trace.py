"""Follows a PyTorch module's forward by torch.fx. Shapes are numbers of the example, so that asserts and loops over them run."""
import inspect
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
import torch.fx
from torch import nn

from ._torch_lines import SAMPLES, Constant, Line, Lines, Unfit, Unknown, Value, Weight, first, last, within
from ._torch_modules import VIEWS, Modules, by_results, unknown
from ._torch_rules import FUNCTIONS, Rules

# Functions and methods that show the same numbers in another form.
SHOWS = {"view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "chunk", "split", "split_with_sizes", "tensor_split",
         "unbind", "getitem", "__getitem__", "narrow", "select", "t", "swapaxes", "swapdims", "movedim", "moveaxis", "unflatten", "expand",
         "expand_as", "view_as", "reshape_as", "repeat", "tile", "repeat_interleave", "index_select", "flip", "roll", "channel_shuffle",
         "pixel_shuffle", "broadcast_to"}
SAME = {"contiguous", "clone", "to", "type_as", "float", "type", "cuda", "cpu", "requires_grad"}
OF_TOKENS = {"long", "int"}
FACTS = {"size", "dim", "numel", "nelement", "ndimension", "stride", "is_contiguous", "get_device", "element_size", "is_floating_point",
         "is_complex", "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like", "__len__"}
KNOWN = ("shape", "device", "dtype", "ndim", "is_cuda", "layout", "requires_grad", "is_sparse", "is_quantized", "is_nested")


class Traced(torch.fx.Proxy):
    """A tensor of the module, with its real numbers, and with what it is in terms of lines."""

    def __init__(self, node: torch.fx.Node, tracer: "Tracer", real: torch.Tensor, state: Any):
        super().__init__(node, tracer)
        self.real, self.state = real, state
        tracer.live.append(weakref.ref(self))

    def __getattr__(self, name: str) -> Any:
        if name in KNOWN:
            return getattr(self.real, name)
        if name in ("T", "mT"):
            return self.tracer.create_proxy("call_method", "transpose", (self, -2, -1), {})
        return super().__getattr__(name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tracer.create_proxy("call_method", "unbind", (self, 0), {}))

    def __len__(self) -> int:
        return len(self.real)

    def __bool__(self) -> bool:
        self.tracer.operation = "if"
        raise Unfit("decides by the numbers of a tensor; a list computes the same layers for all samples")

    def _number(self) -> Any:
        self.tracer.operation = "float"
        raise Unfit("reads the numbers of a tensor; a list computes the same layers for all samples")
    __float__ = __int__ = __index__ = _number


class _Root(nn.Module):
    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, sample):
        self.result[:] = [self.module(sample)]
        return None


def _shares(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether they lie in the same memory; tensors without memory (meta) do not."""
    storages = [(each.untyped_storage() if hasattr(each, "untyped_storage") else each.storage()).data_ptr() for each in (one, other)]
    return storages[0] == storages[1] != 0


class Tracer(torch.fx.Tracer):
    """`problems`: what no line does, with its place. `differs`: what a list computes otherwise, in the same time."""

    def __init__(self, module: nn.Module, sample: torch.Tensor, channels_last: bool, training: Callable[[nn.Module], bool]):
        super().__init__()
        self.module, self.sample, self.channels_last = module, sample, channels_last
        self.problems: List[str] = []
        self.differing: List[str] = []
        self.live: List[Any] = []
        self.running = False  # PyTorch's own code, in one of its functions
        self.places = [""]    # paths of the modules whose forward runs
        self.known: Dict[nn.Module, Any] = {}  # modules that are not PyTorch's
        self.lines = Lines(sample, not sample.is_floating_point(), channels_last)
        self.operation = ""
        self.rules = Rules(self.lines, lambda what: self.differing.append(f"{self.where()}: {what}, or give timing_only=True"))
        self.modules = Modules(self.rules, self._weight, training)
        self.tensors = {**dict(_all_parameters(module)), **dict(module.named_buffers())}

    def where(self) -> str:
        return f"{self.places[-1] or type(self.module).__name__}: {self.operation}"

    def result(self) -> Optional[Line]:
        """The line whose numbers the module returns; None if something else is in the way, as problems say."""
        root = _Root(self.module)
        root.result = []
        try:
            self.trace(root)
            self.operation = "output"
            return self._output(root.result[0])
        except Unfit as unfit:
            self.problems.append(f"{self.where()}: {unfit}")
        except Exception as error:
            what = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.problems.append(f"{self.where()}: forward fails with {SAMPLES} samples of the example ({type(error).__name__}: {what}); "
                                 f"give an example on which module(example) works, and no batch size inside of the module")
        return None

    def _output(self, given: Any) -> Optional[Line]:
        if isinstance(given, dict):
            given = list(given.values())
        if isinstance(given, (tuple, list)):
            tensors = [each for each in given if isinstance(each, Traced)]
            if len(tensors) != 1 and not self.problems:
                raise Unfit(f"is {len(tensors)} tensors; a list makes one, so return the scores alone")
            given = tensors[0] if len(tensors) == 1 else None
        if not isinstance(given, Traced) or isinstance(given.state, Unknown):
            if not self.problems:
                raise Unfit("does not follow from the input; return a tensor that layers make")
            return None
        value = given.state
        if isinstance(value, Value) and value.logs:
            value = Value(value.line, value.index)
        value = self.lines.plain(value)
        if value.line is self.lines.input:
            raise Unfit("is the input itself; a network has at least one layer")
        if value.index.dim() == 2 and value.line.places > 1:
            value = Value(self.lines.flat(value.line), value.index)
        order = torch.arange(value.line.channels)
        if not any(torch.equal(order, each) for each in (self.lines.order_of_channels(value, dim) for dim in (1, -1)) if each is not None):
            raise Unfit(f"is {self.lines.described(value)} in another order; return them as the last layer makes them")
        return value.line

    # torch.fx calls these.

    def is_leaf_module(self, module: nn.Module, path: str) -> bool:
        return module.__module__.startswith("torch.nn") and not isinstance(module, nn.Sequential)

    def path_of_module(self, module: nn.Module) -> str:
        path = super().path_of_module(module)
        return "" if path == "module" else path[len("module."):]

    def call_module(self, module: nn.Module, forward: Callable[..., Any], args: Any, named: Any) -> Any:
        if self.running:
            return forward(*args, **named)
        path = self.path_of_module(module)
        self.places.append(path)
        if self.is_leaf_module(module, path) or self._known_by_results(module):
            made = self._call("call_module", module, args, named)
        else:
            made = forward(*args, **named)
        self.places.pop()
        return made

    def _known_by_results(self, module: nn.Module) -> Any:
        """(rule, its arguments) of an activation or an RMS norm that somebody wrote by hand; None: it is neither."""
        if module not in self.known:
            self.running = True
            try:
                self.known[module] = by_results(module)
            finally:
                self.running = False
        return self.known[module]

    def getattr(self, name: str, value: Any, cache: Dict[str, Any]) -> Any:
        return value if self.running else super().getattr(name, value, cache)

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, name: Any = None, type_expr: Any = None,
                     proxy_factory_fn: Any = None) -> Any:
        if kind == "placeholder":
            return self._made(self.sample, self.lines.start)
        if kind == "get_attr":
            name = target[len("module."):]
            return self._made(self.tensors[name].detach(), self._weight(name))
        return self._call(kind, target, args, kwargs)

    def create_arg(self, given: Any) -> Any:
        return None

    def _weight(self, name: str) -> Weight:
        return Weight(name, self.tensors[name].shape)

    def _made(self, real: Any, state: Any) -> Any:
        if isinstance(real, (tuple, list)):
            states = state if isinstance(state, (tuple, list)) else [state] * len(real)
            return tuple(self._made(each, of) if isinstance(each, (torch.Tensor, tuple, list)) else each for each, of in zip(real, states))
        return Traced(self.create_node("placeholder", "value", (), {}), self, real, Unknown() if state is None else state)

    def _call(self, kind: str, target: Any, args: Any, named: Any) -> Any:
        before = self.operation
        name = type(target).__name__ if kind == "call_module" else target if isinstance(target, str) else getattr(target, "__name__", "")
        self.operation = f"nn.{name}" if kind == "call_module" and target.__module__.startswith("torch.nn") else name
        changes = name.endswith("_") and not name.endswith("__")
        inside = changes or named.get("inplace") or getattr(target, "inplace", False) is True
        plain = name[:-1] if changes else name
        real_args, real_named = _mapped(args, _real), _mapped(named, _real)
        real = self._run(kind, target, real_args, real_named)
        if not _has_tensor(real):
            if plain not in FACTS and plain not in ("getattr", "is_tensor"):
                raise Unfit("reads the numbers of a tensor; a list computes the same layers for all samples")
            self.operation = before
            return real
        states = [each.state for each in _all(args) + _all(named) if isinstance(each, Traced)]
        if plain in FACTS or not states and not (kind == "call_module" and any(True for _ in target.parameters())):
            self.operation = before
            return real  # it follows from shapes
        shows = plain in SHOWS or plain in SAME or kind == "call_module" and plain in VIEWS
        if not shows and not inside and isinstance(real, torch.Tensor) and any(
                isinstance(each, torch.Tensor) and _shares(each, real) for each in _all(real_args) + _all(real_named)):
            real = real.clone()  # a layer of evaluation that passes its input on
        state: Any = Unknown()
        if not any(isinstance(each, Unknown) for each in states):
            try:
                state = self._state(kind, target, plain, args, named, real)
            except Unfit as unfit:
                self.problems.append(f"{self.where()}: {unfit}")
                state = self._instead(real)
        if inside and args and isinstance(args[0], Traced):
            if not shows:
                self._changed(args[0], state)
            args[0].state = state
        self.operation = before
        return self._made(real, state)

    def _instead(self, real: Any) -> Any:
        """For what no line makes: what stands where its output would, so that what reads it is checked, too."""
        if not isinstance(real, torch.Tensor) or real.dim() not in (2, 3, 4) or real.shape[0] != SAMPLES or 0 in real.shape:
            return Unknown()
        if real.dim() == 3:  # a sequence
            if self.lines.tokens or self.channels_last:
                return last(Line("nothing", (real.shape[2], real.shape[1], 1)), real.shape[1:2])
            return first(Line("nothing", (*real.shape[1:], 1)), None, real.shape[2:])
        sides = [*real.shape[2:]] or [1, 1]
        return first(Line("nothing", (real.shape[1], *sides)), None, real.shape[2:])

    def _changed(self, given: Traced, state: Any) -> None:
        """After an operation in place: other views of its memory are no longer what they were."""
        self.live = [each for each in self.live if each() is not None]
        for each in self.live:
            other = each()
            if other is not None and other is not given and isinstance(other.state, Value) and _shares(other.real, given.real):
                alike = other.real.shape == given.real.shape and other.real.stride() == given.real.stride()
                other.state = state if alike else _Changed(self.where())

    def _state(self, kind: str, target: Any, name: str, args: Any, named: Dict[str, Any], real: Any) -> Any:
        states, by_name = _mapped(args, _state), _mapped(named, _state)
        for each in _all(states) + _all(by_name):
            if isinstance(each, _Changed):
                raise Unfit(f"reads a view of what was changed in place ({each.where}); write the operation without inplace")
        given = states[0] if states else by_name.get("input")
        if name in SAME or name in OF_TOKENS and isinstance(given, Value) and given.line is self.lines.input:
            return given
        if (name in SHOWS or kind == "call_module" and name in VIEWS) and isinstance(given, (Value, Weight)):
            return _mapped(self._run(kind, target, _mapped(args, _index), _mapped(named, _index)), given.viewed)
        if kind == "call_module":
            return self._state_of_module(target, states, by_name)
        if name not in FUNCTIONS:
            raise unknown(name)
        rule = getattr(self.rules, FUNCTIONS[name])
        by_name = {key: each for key, each in by_name.items() if key != "out"}
        if "path" in inspect.signature(rule).parameters and "path" not in by_name:
            weights = [each for each in _all(states) + _all(by_name) if isinstance(each, Weight)]
            if weights:
                by_name["path"] = weights[0].name.rpartition(".")[0] or self.places[-1]
        try:
            bound = inspect.signature(rule).bind(*states, **by_name).arguments
        except TypeError as error:
            raise Unfit(f"is called in a form that is not known here ({error}); write it as a module of torch.nn") from None
        for part in ("weight", "bias"):
            if part in bound and not isinstance(bound[part], (Weight, type(None))):
                raise Unfit(f"has a {part} that is no parameter; a layer's {part} is one of the module's, in an nn.Parameter")
        return rule(*states, **by_name)

    def _state_of_module(self, module: nn.Module, given: Any, named: Any) -> Any:
        path = self.places[-1]
        if not self.known.get(module):
            return self.modules.apply(module, path, given, named)
        rule, arguments = self.known[module]
        weights = [self._weight(within(path, name)) for name, _ in module.named_parameters()]
        shapes = [weights[0].shape] if weights else []
        return getattr(self.rules, rule)(given[0], *shapes, *weights, **arguments, path=path)

    def _run(self, kind: str, target: Any, args: Any, named: Any) -> Any:
        """PyTorch's own result. Layers run as in evaluation, so that they neither draw nor change their state."""
        self.running = True
        try:
            if kind != "call_module":
                return getattr(args[0], target)(*args[1:], **named) if kind == "call_method" else target(*args, **named)
            if isinstance(target, nn.SyncBatchNorm):
                return args[0]  # it runs on GPUs alone
            modes = [(each, each.training) for each in target.modules()]
            try:
                target.eval()
                return target.forward(*args, **named)
            finally:
                for each, mode in modes:
                    each.training = mode
        finally:
            self.running = False


class _Changed:
    def __init__(self, where: str):
        self.where = where


def _all_parameters(module: nn.Module) -> Iterator[Tuple[str, torch.Tensor]]:
    for path, each in module.named_modules():
        for name, parameter in each._parameters.items():
            if parameter is not None:
                yield within(path, name), parameter


def _mapped(given: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(given, (tuple, list)) and not isinstance(given, torch.Size):
        return (list if isinstance(given, list) else tuple)(_mapped(each, change) for each in given)
    if isinstance(given, dict):
        return {key: _mapped(each, change) for key, each in given.items()}
    if isinstance(given, slice):
        return slice(*(_mapped(each, change) for each in (given.start, given.stop, given.step)))
    return change(given)


def _all(given: Any) -> List[Any]:
    found: List[Any] = []
    _mapped(given, found.append)
    return found


def _has_tensor(given: Any) -> bool:
    return any(isinstance(each, torch.Tensor) for each in _all(given))


def _real(given: Any) -> Any:
    return given.real if isinstance(given, Traced) else given


def _index(given: Any) -> Any:
    return given.state.index.contiguous() if isinstance(_state(given), (Value, Weight)) else _real(given)


def _state(given: Any) -> Any:
    if isinstance(given, Traced):
        return given.state
    return Constant(given) if isinstance(given, torch.Tensor) else given
