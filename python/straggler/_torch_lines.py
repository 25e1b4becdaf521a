"""Lines of a list of layers (docs/scenario.md), and what the tensors of a PyTorch module are in their terms: numbers of a line's output.

Memory of a line's output: [channels][height][width] of each sample. A tensor of the module, which may be permuted or cut, has for each
of its numbers the number's place there. So every kind of view is understood by applying it to these places."""
import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch

SAMPLES = 2  # of the traced batch: two, so that what mixes samples shows

Tensors = Callable[[str], torch.Tensor]  # the module's parameter or buffer of a name


def within(path: str, name: str) -> str:
    """The full name of what a module has."""
    return f"{path}.{name}" if path else name


class Unfit(Exception):
    """What no line does, and what would be right, as one text."""


class Part(NamedTuple):
    """Numbers of a parameter or buffer: `index` has their places in it, in the wanted shape; None: all of them, in their order."""
    name: str
    shape: Tuple[int, ...]
    index: Optional[torch.Tensor]


class Source(NamedTuple):
    """A line's tensor: parts of the module's, one after the other."""
    parts: Tuple[Part, ...]

    def made(self, get: Tensors) -> torch.Tensor:
        made = [get(part.name).reshape(-1) if part.index is None else get(part.name).reshape(-1)[part.index.reshape(-1)]
                for part in self.parts]
        return torch.cat(made).reshape(-1, *self.parts[0].shape[1:])


class Line:
    def __init__(self, kind: str, shape: Sequence[int], inputs: Sequence["Line"] = (), parameters: Optional[Dict[str, Any]] = None,
                 tensors: Optional[Dict[str, Source]] = None, path: str = ""):
        self.kind, self.shape, self.inputs, self.path = kind, tuple(shape), tuple(inputs), path
        self.parameters = parameters or {}  # the layer's main one first
        self.tensors = tensors or {}
        # Of a linear line, which attention may take in: the parameters, and the order of its input's channels.
        self.weight: Optional["Weight"] = None
        self.bias: Optional["Weight"] = None
        self.order: Optional[torch.Tensor] = None

    channels = property(lambda self: self.shape[0])
    places = property(lambda self: self.shape[1] * self.shape[2])
    size = property(lambda self: self.shape[0] * self.shape[1] * self.shape[2])

    def __str__(self) -> str:
        return f"{self.kind} '{self.path}'" if self.path else self.kind


class Value:
    """Numbers of a line's output: index has their places in the memory of the batch."""

    def __init__(self, line: Line, index: torch.Tensor, scale: float = 1.0, logs: bool = False):
        self.line, self.index = line, index
        self.scale = scale  # not yet applied
        self.logs = logs    # the logarithms of their softmax

    def viewed(self, index: torch.Tensor) -> "Value":
        return Value(self.line, index, self.scale, self.logs)


class Weight:
    """Numbers of a parameter or buffer of the module, as those of a Part."""

    def __init__(self, name: str, shape: Sequence[int], index: Optional[torch.Tensor] = None):
        self.name, self.shape, self._index = name, tuple(shape), index

    @property
    def index(self) -> torch.Tensor:
        return torch.arange(math.prod(self.shape)).reshape(self.shape) if self._index is None else self._index

    def viewed(self, index: torch.Tensor) -> "Weight":
        return Weight(self.name, index.shape, index)

    def reshaped(self, *shape: int) -> "Weight":
        return Weight(self.name, shape) if self._index is None else self.viewed(self._index.reshape(shape))

    def ordered(self, dim: int, order: torch.Tensor) -> "Weight":
        """Row order[i] of the result is row i, in that dimension."""
        if order.numel() != self.shape[dim]:
            raise Unfit(f"has a parameter '{self.name}' of shape {[*self.shape]} for {order.numel()} channels")
        if torch.equal(order, torch.arange(order.numel())):
            return self
        return self.viewed(self.index.index_select(dim, torch.argsort(order)))

    def source(self) -> Source:
        return Source((Part(self.name, self.shape, self._index),))


class Constant:
    """A tensor that follows from shapes alone."""

    def __init__(self, real: torch.Tensor):
        self.real = real


class Unknown:
    """What follows from something that no line does."""


def places_of(line: Line) -> torch.Tensor:
    """[samples][channels][places]"""
    return torch.arange(SAMPLES * line.size).reshape(SAMPLES, line.channels, line.places)


def first(line: Line, order: Optional[torch.Tensor] = None, sides: Optional[Sequence[int]] = None) -> Value:
    """All of it as [samples, channels, *sides]; channel c of it is channel order[c] of the line."""
    index = places_of(line)
    if order is not None:
        index = index[:, order]
    return Value(line, index.reshape(SAMPLES, line.channels, *(line.shape[1:] if sides is None else sides)))


def last(line: Line, sides: Sequence[int], batch: int = 0) -> Value:
    """All of it as [samples, *sides, channels], with the samples in dimension `batch`."""
    return Value(line, places_of(line).transpose(1, 2).reshape(SAMPLES, *sides, line.channels).movedim(0, batch))


def batch_dim(value: Value) -> int:
    """The dimension of the samples: the first, or the second as in [places, samples, channels]."""
    for dim in range(min(2, value.index.dim())):
        if value.index.shape[dim] == SAMPLES:
            one, other = value.index.unbind(dim)
            if torch.equal(other - value.line.size, one):
                return dim
    raise Unfit("mixes the samples of a batch; the first dimension must stay the batch, as in x.view(x.size(0), -1)")


def of_sample(value: Value) -> torch.Tensor:
    """The places of one sample."""
    return value.index.select(batch_dim(value), 0)


def _of_batch(sample: torch.Tensor, size: int, value: Value) -> torch.Tensor:
    """Places of one sample as those of the batch, in the shape of the value."""
    batch = batch_dim(value)
    shape = [side for dim, side in enumerate(value.index.shape) if dim != batch]
    return torch.stack([sample.reshape(shape) + b * size for b in range(SAMPLES)], batch)


def sides_of(value: Value) -> List[int]:
    """Its dimensions but those of the samples and, at the end, the channels."""
    sides = [*value.index.shape]
    del sides[batch_dim(value)]
    return sides[:-1]


class Lines:
    """The lines so far."""

    def __init__(self, sample: torch.Tensor, tokens: bool, channels_last: bool):
        sides = tuple(sample.shape[1:])
        if tokens:
            shape: Tuple[int, ...] = (1, sample[0].numel(), 1)
        elif len(sides) == 2:
            shape = (sides[1], sides[0], 1) if channels_last else (*sides, 1)
        else:
            shape = sides if len(sides) == 3 else (sample[0].numel(), 1, 1)
        self.input = Line("input", shape)
        self.tokens = tokens
        self._input_is_used = False
        index = places_of(self.input)
        self.start = Value(self.input, (index.transpose(1, 2) if channels_last else index).reshape(sample.shape))
        self.all: List[Line] = []
        self.differs: Callable[[str], None] = lambda what: None  # of Rules

    def emit(self, kind: str, inputs: Sequence[Line], shape: Sequence[int], parameters: Optional[Dict[str, Any]] = None,
             tensors: Optional[Dict[str, Source]] = None, path: str = "") -> Line:
        if self.input in inputs:
            self._input_is_used = True
        self.all.append(Line(kind, shape, inputs, parameters, tensors, path))
        return self.all[-1]

    # What a line can read.

    def plain(self, value: Any) -> Value:
        """All numbers of a line, in some order."""
        if isinstance(value, Weight):
            raise Unfit(f"computes with the parameter '{value.name}' by itself; a list has parameters in layers, positions and class_token "
                        f"only")
        if not isinstance(value, Value):
            raise Unfit("has no input that a line makes; give it what layers make")
        if value.scale != 1:
            self.differs(f"reads numbers times {value.scale:.6g}; a list scales in attention only, so leave the factor out")
            value = Value(value.line, value.index, 1.0, value.logs)
        if value.logs:
            raise Unfit("reads the logarithms of a softmax; a list ends with the network's scores, from which the loss is computed")
        if value.line.kind in ("scores", "context"):
            raise Unfit("reads attention before its output's projection; a line of attention ends with one, so add an nn.Linear")
        return self._whole(value)

    def _whole(self, value: Value) -> Value:
        line, index = value.line, of_sample(value).reshape(-1)
        met = torch.zeros(line.size, dtype=torch.bool)
        met[index] = True
        if index.numel() == line.size and bool(met.all()):
            return value
        channels = index // line.places
        of_first = bool((index % line.places == 0).all())
        if of_first and torch.equal(torch.sort(channels)[0], torch.arange(line.channels)):
            line = self.emit("first_place", [line], (line.channels, 1, 1))
            return Value(line, _of_batch(channels, line.channels, value))
        raise Unfit(f"reads a part of what {line} makes; a line reads all of it (first_place: the first place)")

    def order_of_channels(self, value: Value, dim: int) -> Optional[torch.Tensor]:
        """Which channel of the line stands where in that dimension, if the other dimensions are its places; else None."""
        line, index = value.line, of_sample(value)
        dim = dim - 1 if dim > 0 else dim
        rows = index.movedim(dim, 0).reshape(index.shape[dim], -1)
        if tuple(rows.shape) != (line.channels, line.places):
            return None
        order = rows[:, 0] // line.places
        return order if torch.equal(rows, order[:, None] * line.places + torch.arange(line.places)) else None

    def flat(self, line: Line) -> Line:
        """The line's numbers at one place."""
        return line if line.places == 1 else self.emit("flatten", [line], (line.size, 1, 1))

    def at_channels(self, value: Value, dim: int) -> Tuple[Value, torch.Tensor]:
        """The value for a line that works on the channels of each place, which are that dimension; and their order. A sample's only
        dimension is its channels, at one place."""
        value = self.plain(value)
        if value.index.dim() == 2:
            return Value(self.flat(value.line), value.index), of_sample(value)
        order = self.order_of_channels(value, dim)
        if order is None:
            raise Unfit(f"works along dimension {dim} of {self.described(value)}, which is not that of the channels; a line works on the "
                        f"channels of each place")
        return value, order

    def image(self, value: Value, sides: Sequence[int]) -> Tuple[Line, torch.Tensor]:
        """The line behind [samples, channels, *sides], with these sides, and the order of its channels."""
        value = self.plain(value)
        wanted = (value.index.shape[1], *sides)
        line = value.line
        if line is self.input and not self._input_is_used and line.shape != wanted and torch.equal(
                value.index.reshape(-1), torch.arange(value.index.numel())):
            line.shape = wanted
        order = self.order_of_channels(value, 1)
        if order is None:
            raise Unfit(f"reads {self.described(value)} as an image, whose channels are elsewhere; give it [batch, channels, …]")
        if line.shape[1:] != wanted[1:]:
            if wanted[2] != 1:
                raise Unfit(f"reads the {line.shape[1]} x {line.shape[2]} places of {line} as {wanted[1]} x {wanted[2]}; no line does that")
            line = self.sequence(line)
        return line, order

    def sequence(self, line: Line) -> Line:
        """The line's places in one row."""
        return line if line.shape[2] == 1 else self.emit("sequence", [line], (line.channels, line.places, 1))

    @staticmethod
    def described(value: Value) -> str:
        return f"{[*value.index.shape[1:]]} of {value.line}"

    # Lines of one input.

    def elementwise(self, kind: str, value: Any, parameters: Optional[Dict[str, Any]] = None, path: str = "") -> Value:
        value = self.plain(value)
        return Value(self.emit(kind, [value.line], value.line.shape, parameters, path=path), value.index)

    def add(self, a: Any, b: Any) -> Value:
        a, b = self.plain(a), self.plain(b)
        if a.index.shape != b.index.shape or not torch.equal(a.index, b.index):
            raise Unfit(f"adds {self.described(a)} and {self.described(b)}, whose numbers do not lie alike; add equal shapes")
        if a.line.shape != b.line.shape:
            a, b = Value(self.flat(a.line), a.index), Value(self.flat(b.line), b.index)
        return Value(self.emit("add", [a.line, b.line], a.line.shape), a.index)

    def concat(self, values: Sequence[Any], dim: int) -> Value:
        values = [self.plain(each) for each in values]
        if all(each.index.dim() == 2 for each in values) and len({each.line.shape[1:] for each in values}) > 1:
            values = [Value(self.flat(each.line), each.index) for each in values]
        apart = f"joins {' and '.join(map(self.described, values))} along other dimensions than the channels; concat joins channels"
        if len({each.line.shape[1:] for each in values}) > 1:
            raise Unfit(apart)
        size, start, moved = sum(each.line.size for each in values), 0, []
        for each in values:
            batch = torch.arange(SAMPLES).reshape([SAMPLES if d == batch_dim(each) else 1 for d in range(each.index.dim())])
            moved.append(each.index + batch * (size - each.line.size) + start)
            start += each.line.size
        line = self.emit("concat", [each.line for each in values], (size // values[0].line.places, *values[0].line.shape[1:]))
        joined = Value(line, torch.cat(moved, dim))
        if joined.index.dim() > 2 and self.order_of_channels(joined, 1) is None and self.order_of_channels(joined, -1) is None:
            raise Unfit(apart)
        return joined

    def mean_of_places(self, value: Any, dims: Union[int, Sequence[int]], keep: bool) -> Value:
        value = self.plain(value)
        rank, batch, line = value.index.dim(), batch_dim(value), value.line
        gone = sorted({dim % rank for dim in ([dims] if isinstance(dims, int) else dims)})
        stay = [dim for dim in range(rank) if dim not in gone and dim != batch]
        kept = [value.index.shape[dim] for dim in stay]
        rows = torch.empty(0)
        if batch not in gone and math.prod(kept) == line.channels:
            rows = value.index.permute(batch, *stay, *gone)[0].reshape(-1, line.places)
        if not len(rows) or not torch.equal(torch.sort(rows, 1)[0], rows[:, :1] // line.places * line.places + torch.arange(line.places)):
            raise Unfit(f"is the mean over dimensions {gone} of {self.described(value)}; global_average_pool is the mean of all places")
        order = rows[:, 0] // line.places
        if line.places > 1:
            line = self.emit("average_pool", [line], (line.channels, 1, 1))
        index = torch.stack([order.reshape(kept) + b * line.channels for b in range(SAMPLES)])
        at = sum(dim < batch for dim in stay)
        index = index.movedim(0, at)
        for dim in gone if keep else []:
            index = index.unsqueeze(dim)
        return Value(line, index)

    # Parameters at places.

    def add_positions(self, value: Any, table: Weight) -> Value:
        """A row of the table is added at each place: [1, places, channels] or [places, channels]."""
        value = self.plain(value)
        order = self.order_of_channels(value, -1)
        rows = table.index
        if rows.dim() and rows.shape[0] == SAMPLES and rows.dim() == value.index.dim() and torch.equal(rows[0], rows[1]):
            rows = rows[0]
        if order is None or rows.numel() != value.line.size or not torch.equal(order, torch.arange(value.line.channels)):
            raise Unfit(f"adds the parameter '{table.name}' to {self.described(value)}; a list adds a row to each place of a sequence, "
                        f"[1, places, channels]")
        source = table.viewed(rows.reshape(value.line.places, value.line.channels)).source()
        line = value.line
        if line.kind == "embedding" and "positions" not in line.tensors:
            line = self.emit("embedding", line.inputs, line.shape, {**line.parameters, "positions": "learned"},
                             {**line.tensors, "positions": source}, line.path)
        else:
            line = self.emit("learned_positions", [line], line.shape, {}, {"weight": source}, table.name)
        return Value(line, value.index)

    def put_before(self, token: Weight, value: Any) -> Value:
        """A learned place before those of a sequence [samples, places, channels]."""
        value = self.plain(value)
        order = self.order_of_channels(value, -1)
        row = token.index.reshape(-1)[:value.line.channels]
        if order is None or token.index.numel() not in (row.numel(), SAMPLES * row.numel()) or row.numel() != value.line.channels or \
                not torch.equal(order, torch.arange(value.line.channels)):
            raise Unfit(f"joins the parameter '{token.name}' and {self.described(value)}; class_token puts one place [1, 1, channels] "
                        f"before a sequence")
        before = self.sequence(value.line)
        line = self.emit("class_token", [before], (before.channels, before.places + 1, 1), {}, {"weight": token.viewed(row).source()},
                         token.name)
        return last(line, [line.places], batch_dim(value))
