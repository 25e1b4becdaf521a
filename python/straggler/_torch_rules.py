"""Which lines the modules and functions of PyTorch are. Each function of Rules has the parameters of PyTorch's function of its name."""
import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from ._torch_attention import Attention
from ._torch_lines import Constant, Line, Lines, Source, Unfit, Value, Weight, batch_dim, first, last, sides_of

EPSILON, MOMENTUM = 1e-5, 0.1  # of norms here (docs/model_math.md)

# What is near to a layer that no line is.
INSTEAD = {
    **dict.fromkeys(["GroupNorm", "group_norm"], "batch_norm or layer_norm"), "batch_norm": "nn.BatchNorm2d",
    **dict.fromkeys(["InstanceNorm2d", "instance_norm", "LocalResponseNorm", "BatchNorm3d"], "batch_norm"),
    "Sigmoid": "tanh", "sigmoid": "tanh", "LeakyReLU": "relu", "leaky_relu": "relu", "ReLU6": "relu", "relu6": "relu", "PReLU": "relu",
    **dict.fromkeys(["ELU", "elu", "Hardswish", "hardswish", "Mish", "mish", "CELU", "SELU"], "silu"), "Softplus": "relu",
    "Hardsigmoid": "tanh", "hardsigmoid": "tanh", "Hardtanh": "relu", "hardtanh": "relu",
    "AlphaDropout": "dropout",
}

Pair = Union[int, Sequence[int]]


def _two(given: Pair, rank: int, beside: int) -> List[int]:
    """[height, width] of a number or of `rank` of them; a single dimension is the height."""
    sides = [int(given)] * rank if isinstance(given, int) else [int(side) for side in given]
    sides = sides * rank if len(sides) == 1 else sides
    return sides if rank == 2 else [*sides, beside]


def _one_or_two(sides: Sequence[int]) -> Pair:
    return sides[0] if sides[0] == sides[1] else [*sides]


class Rules:
    def __init__(self, lines: Lines, differs: Callable[[str], None]):
        self.lines = lines
        self.differs = lines.differs = differs  # reports what changes numbers, but neither time nor bytes
        self.attention = Attention(lines, differs)

    # Weights of a line, of the module's tensors.

    @staticmethod
    def _gain(weight: Weight, order: torch.Tensor) -> Source:
        return weight.ordered(0, order).source()

    # Windows.

    def _slid(self, kind: str, value: Any, rank: int, window: Pair, stride: Pair, pad: Any, dilation: Pair, ceil: bool, path: str,
              channels: Optional[int] = None, rest: Optional[Dict[str, Any]] = None, tensors: Any = None) -> Value:
        """`rest`: parameters of the line besides the window's; `tensors`: those of the line, by the order of its input's channels."""
        value = self.lines.plain(value)
        if value.index.dim() != rank + 2:
            raise Unfit(f"slides over {self.lines.described(value)}; write [batch, channels, {'height, width' if rank == 2 else 'length'}]")
        line, order = self.lines.image(value, (*value.index.shape[2:], *([1] if rank == 1 else [])))
        windows, strides, steps = _two(window, rank, 1), _two(stride, rank, 1), _two(dilation, rank, 1)
        pads = self._pads(pad, rank, windows, steps)
        if any(step != 1 and side != 1 for step, side in zip(steps, windows)):
            raise Unfit(f"has dilation {dilation}; a window here has none, so write dilation=1 with a larger window")

        def out(by: Sequence[int], round_up: bool = False) -> List[int]:
            sides = []
            for given, side, padded, step in zip(line.shape[1:], windows, pads, by):
                count = (given + 2 * padded - side + (step - 1 if round_up else 0)) // step + 1
                sides.append(count - (round_up and (count - 1) * step >= given + padded))  # a window begins within the input
            return sides
        made = out(strides)
        if ceil and out(strides, True) != made:
            raise Unfit(f"makes {out(strides, True)} places with ceil_mode, which reach beyond the edge; write ceil_mode=False, or pad")
        one = max([step for step, count in zip(strides, made) if count > 1] or [max(strides)])
        if out([one, one]) != made:
            raise Unfit(f"has stride {stride}; a line has the same stride in both directions")
        conv = kind == "conv"
        written: Dict[str, Any] = {kind: channels if conv else _one_or_two(windows)}
        if conv and windows != [1, 1]:
            written["window"] = _one_or_two(windows)
        if one != (1 if conv else windows[0]) or not conv and windows[0] != windows[1]:
            written["stride"] = one
        if pads != [0, 0]:
            written["pad"] = _one_or_two(pads)
        shape = (channels or line.channels, *made)
        result = self.lines.emit(kind, [line], shape, {**written, **(rest or {})}, tensors(order) if tensors else {}, path)
        return first(result, None if channels else order, made[:rank])

    @staticmethod
    def _pads(pad: Any, rank: int, windows: Sequence[int], steps: Sequence[int]) -> List[int]:
        if pad == "same":
            if any((side - 1) * step % 2 for side, step in zip(windows, steps)):
                raise Unfit("pads one edge more than the other (padding='same' with an even window); pad both edges alike")
            return [(side - 1) * step // 2 for side, step in zip(windows, steps)]
        return _two(0 if pad == "valid" else pad, rank, 0)

    def _conv(self, rank: int, input: Any, weight: Weight, bias: Optional[Weight], stride: Pair, padding: Any, dilation: Pair, groups: int,
              path: str = "", mode: str = "zeros") -> Value:
        if mode != "zeros" and padding != "valid" and any(_two(padding if padding != "same" else 1, rank, 0)):
            raise Unfit(f"pads by '{mode}'; a line pads with zeros")
        channels, window = weight.shape[0], weight.shape[2:]

        def tensors(order: torch.Tensor) -> Dict[str, Source]:
            if groups != 1 and not torch.equal(order, torch.arange(order.numel())):
                raise Unfit("has groups of channels that were permuted; a list permutes channels for ungrouped layers only")
            ordered = weight.ordered(1, order) if groups == 1 else weight
            made = {"weight": ordered.reshaped(channels, ordered.shape[1], *_two(window, rank, 1)).source()}
            if bias is not None:
                made["bias"] = bias.source()
            return made
        rest: Dict[str, Any] = {"bias": False} if bias is None else {}
        if groups != 1:
            rest["groups"] = groups
        return self._slid("conv", input, rank, window, stride, padding, dilation, False, path, channels, rest, tensors)

    def conv1d(self, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, path=""):
        return self._conv(1, input, weight, bias, stride, padding, dilation, groups, path)

    def conv2d(self, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, path=""):
        return self._conv(2, input, weight, bias, stride, padding, dilation, groups, path)

    def _max_pool(self, rank, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, path=""):
        if return_indices:
            raise Unfit("returns the indices, too; a line makes numbers only")
        return self._slid("max_pool", input, rank, kernel_size, stride or kernel_size, padding, dilation, ceil_mode, path)

    def max_pool1d(self, *args, **named):
        return self._max_pool(1, *args, **named)

    def max_pool2d(self, *args, **named):
        return self._max_pool(2, *args, **named)

    def _average_pool(self, rank, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                      divisor_override=None, path=""):
        if divisor_override or not count_include_pad and any(_two(padding, rank, 0)):
            raise Unfit("divides by another number than that of the window's places; write count_include_pad=True without divisor_override")
        return self._slid("average_pool", input, rank, kernel_size, stride or kernel_size, padding, 1, ceil_mode, path)

    def avg_pool1d(self, *args, **named):
        return self._average_pool(1, *args, **named)

    def avg_pool2d(self, *args, **named):
        return self._average_pool(2, *args, **named)

    def _adaptive(self, kind: str, rank: int, input: Any, output_size: Any, path: str = "") -> Value:
        value = self.lines.plain(input)
        given = [*value.index.shape[2:]]
        wanted = [output_size] * rank if output_size is None or isinstance(output_size, int) else [*output_size]
        wanted = [side if want is None else int(want) for want, side in zip(wanted, given)]
        if wanted == given:
            return value
        if wanted == [1] * rank and kind == "average_pool":
            return self.lines.mean_of_places(value, range(2, 2 + rank), True)
        windows = [side // want for side, want in zip(given, wanted)]
        if any(side % want for side, want in zip(given, wanted)):
            raise Unfit(f"pools {given} places to {wanted}, which windows of one size do not; choose a divisor of each side")
        return self._slid(kind, value, rank, windows, windows, 0, 1, False, path)

    def adaptive_avg_pool1d(self, input, output_size, path=""):
        return self._adaptive("average_pool", 1, input, output_size, path)

    def adaptive_avg_pool2d(self, input, output_size, path=""):
        return self._adaptive("average_pool", 2, input, output_size, path)

    def adaptive_max_pool1d(self, input, output_size, return_indices=False, path=""):
        return self._adaptive("max_pool", 1, input, output_size, path)

    def adaptive_max_pool2d(self, input, output_size, return_indices=False, path=""):
        return self._adaptive("max_pool", 2, input, output_size, path)

    # Layers over channels.

    def linear(self, input, weight, bias=None, path=""):
        if isinstance(input, Value) and input.line.kind == "context":
            return self.attention.projected(input, weight, bias, path)
        value, order = self.lines.at_channels(input, -1)
        line = value.line
        parameters: Dict[str, Any] = {"linear": weight.shape[0]}
        tensors = {"weight": weight.ordered(1, order).source()}
        if bias is None:
            parameters["bias"] = False
        else:
            tensors["bias"] = bias.source()
        made = self.lines.emit("linear", [line], (weight.shape[0], *line.shape[1:]), parameters, tensors, path)
        made.weight, made.bias, made.order = weight, bias, order
        return last(made, sides_of(value), batch_dim(value))

    def embedding(self, input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, path=""):
        if isinstance(input, Constant):
            return weight.viewed(weight.index[input.real.long()])
        value = self.lines.plain(input)
        if value.line is not self.lines.input or not self.lines.tokens or not torch.equal(
                value.index.reshape(-1), torch.arange(value.index.numel())):
            raise Unfit("looks up numbers that a layer makes, or parts of the input; an embedding reads the tokens of the input")
        if padding_idx is not None or max_norm is not None or scale_grad_by_freq:
            self.differs("has padding_idx, max_norm or scale_grad_by_freq; a list has none, so leave them out")
        line = self.lines.emit("embedding", [value.line], (weight.shape[1], value.line.places, 1),
                               {"embedding": weight.shape[1], "rows": weight.shape[0]}, {"weight": weight.source()}, path)
        return last(line, value.index.shape[1:])

    def _norm(self, kind, input, dim, weight, bias, epsilon, path):
        value, order = self.lines.at_channels(input, dim)
        if weight is None or bias is None and kind != "rms_norm":
            missing = "weight" if weight is None else "bias"
            raise Unfit(f"has no {missing}, and {kind} has one; give it one ({'affine' if kind == 'batch_norm' else missing}=True)")
        if epsilon is None or not math.isclose(epsilon, EPSILON):
            self.differs(f"has eps={epsilon}; norms here have {EPSILON:g}, so write eps={EPSILON:g}")
        tensors = {"weight": self._gain(weight, order)}
        if bias is not None:
            tensors["bias"] = self._gain(bias, order)
        return Value(self.lines.emit(kind, [value.line], value.line.shape, {}, tensors, path), value.index), order

    def layer_norm(self, input, normalized_shape, weight=None, bias=None, eps=EPSILON, path="", kind="layer_norm"):
        if len(normalized_shape) != 1:
            raise Unfit(f"normalizes over {[*normalized_shape]}; {kind} is of the channels of a place, one dimension")
        return self._norm(kind, input, -1, weight, bias, eps, path)[0]

    def rms_norm(self, input, normalized_shape, weight=None, eps=None, path=""):
        return self.layer_norm(input, normalized_shape, weight, None, eps, path, "rms_norm")

    # Layers of each number.

    def relu(self, input, inplace=False, path=""):
        return self.lines.elementwise("relu", input, path=path)

    def tanh(self, input, path=""):
        return self.lines.elementwise("tanh", input, path=path)

    def silu(self, input, inplace=False, path=""):
        return self.lines.elementwise("silu", input, path=path)

    def gelu(self, input, approximate="none", path=""):
        return self.lines.elementwise("gelu", input, {"gelu": "tanh"} if approximate == "tanh" else {}, path=path)

    def dropout(self, input, p=0.5, training=True, inplace=False, path="", train=None):
        if p == 0 or not (training if train is None else train):
            return input
        if isinstance(input, Value) and input.line.kind == "scores":
            self.differs(f"drops shares of attention (p={p}); a line of attention drops none, so write 0")
            return input
        if not p < 1:
            raise Unfit("drops everything; write a share below 1")
        return self.lines.elementwise("dropout", input, {"dropout": float(p)}, path)

    # Arithmetic.

    def add(self, input, other, alpha=1):
        if alpha != 1:
            raise Unfit(f"adds {alpha} times a tensor; add has no factors")
        for a, b in ((input, other), (other, input)):
            if isinstance(b, (Constant, int, float)) and isinstance(a, Value):
                if isinstance(b, Constant) and a.line.kind == "scores":
                    return self.attention.masked(a, b.real == 0, b.real[b.real != 0])
                if (b.real if isinstance(b, Constant) else torch.tensor(b)).count_nonzero() > 0:
                    self.differs("adds a constant, which no line does; write learned positions, or a bias")
                return a
            if isinstance(a, Weight) and isinstance(b, Weight):
                raise Unfit(f"adds the parameters '{a.name}' and '{b.name}'; add each to what layers make")
            if isinstance(b, Weight):
                return self.lines.add_positions(a, b)
        return self.lines.add(input, other)

    def _scaled(self, input, factor):
        factor = factor.real.item() if isinstance(factor, Constant) and factor.real.numel() == 1 else factor
        if isinstance(input, Value) and isinstance(factor, (int, float)):
            return Value(input.line, input.index, input.scale * factor, input.logs)
        raise Unfit("multiplies or divides by a tensor; a list multiplies inside of layers only")

    def mul(self, input, other):
        return self._scaled(*((other, input) if not isinstance(input, Value) else (input, other)))

    def div(self, input, other, rounding_mode=None):
        other = other.real.item() if isinstance(other, Constant) and other.real.numel() == 1 else other
        if not isinstance(other, (int, float)) or rounding_mode:
            raise Unfit("divides by a tensor; a list multiplies inside of layers only")
        return self._scaled(input, 1 / other)

    def cat(self, tensors, dim=0, axis=None):
        dim = dim if axis is None else axis
        if len(tensors) == 2 and isinstance(tensors[0], Weight) and isinstance(tensors[1], Value) and dim in (1, -2):
            return self.lines.put_before(*tensors)
        return tensors[0] if len(tensors) == 1 else self.lines.concat(tensors, dim)

    def mean(self, input, dim=None, keepdim=False, dtype=None, axis=None):
        dim = dim if axis is None else axis
        if dim is None:
            raise Unfit("is the mean of everything; write the dimensions of the places, as x.mean([2, 3])")
        return self.lines.mean_of_places(input, dim, keepdim)

    def matmul(self, input, other):
        return self.attention.product(input, other)

    def softmax(self, input, dim=None, _stacklevel=3, dtype=None, path=""):
        if isinstance(input, Value) and input.line.kind == "scores":
            return self.attention.shares(input, dim)
        raise Unfit("is a softmax outside of attention; a network ends with its scores, from which the loss is computed, so leave it out")

    def log_softmax(self, input, dim=None, _stacklevel=3, dtype=None, path=""):
        value = self.lines.plain(input)
        if value.index.dim() != 2 or dim not in (1, -1, None):
            raise Unfit("is a log_softmax of places; a network ends with its scores, from which the loss is computed, so leave it out")
        return Value(value.line, value.index, 1.0, True)  # cross entropy of scores is that of log_softmax and NLLLoss

    def masked_fill(self, input, mask, value):
        if not (isinstance(input, Value) and input.line.kind == "scores" and isinstance(mask, Constant)):
            raise Unfit("masks numbers; a list masks in causal attention only")
        fill = value.real if isinstance(value, Constant) else torch.tensor(float(value))
        return self.attention.masked(input, ~mask.real.bool(), fill)

    def scaled_dot_product_attention(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                     enable_gqa=False):
        if enable_gqa and all(isinstance(each, Value) and each.index.dim() == 4 for each in (query, key, value)):
            key, value = (each.viewed(each.index.repeat_interleave(query.index.shape[1] // each.index.shape[1], 1)) for each in (key, value))
        return self.attention.of_heads(query, key, value, attn_mask, dropout_p, is_causal, scale)

    NAMES = {"cat": ("concat", "concatenate"), "matmul": ("bmm", "__matmul__"), "div": ("truediv", "true_divide", "divide"),
             "mul": ("multiply",), "add": ("iadd", "__add__", "__radd__")}


FUNCTIONS: Dict[str, str] = {name: name for name in vars(Rules) if not name.startswith("_") and name.islower()}
FUNCTIONS.update({other: name for name, others in Rules.NAMES.items() for other in others})
