"""Which lines the modules of torch.nn are."""
import math
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import nn

from ._torch_lines import Constant, Unfit, Weight, batch_dim, sides_of, within
from ._torch_rules import INSTEAD, MOMENTUM, Rules

# Modules that only show their input's numbers in another form.
VIEWS = ("Flatten", "Unflatten", "Identity", "PixelShuffle", "PixelUnshuffle", "ChannelShuffle")


def unknown(name: str) -> Unfit:
    near = f"; {INSTEAD[name]} is nearest" if name in INSTEAD else ""
    return Unfit(f"is no layer of a list{near}; change it, or use model_from_torch and cost_model (docs/networks.md)")


class Modules:
    """Each function has the parameters of a module's forward, after the module and its path."""

    def __init__(self, rules: Rules, weight: Callable[[str], Weight], training: Callable[[nn.Module], bool]):
        self.rules, self.lines, self.differs = rules, rules.lines, rules.differs
        self.weight, self._training = weight, training

    def apply(self, module: nn.Module, path: str, args: Any, named: Dict[str, Any]) -> Any:
        rule = getattr(self, type(module).__name__, None) if type(module).__name__ in KINDS else None
        if rule is None:
            raise unknown(type(module).__name__)
        return rule(module, path, *args, **named)

    def _tensor(self, module: nn.Module, path: str, name: str) -> Optional[Weight]:
        """The module's parameter of that name; None if it has none."""
        if name not in module._parameters:
            raise Unfit(f"computes its {name} from other tensors (a hook, or a parametrization); remove that")
        return None if module._parameters[name] is None else self.weight(within(path, name))

    def _both(self, module: nn.Module, path: str) -> Any:
        return self._tensor(module, path, "weight"), self._tensor(module, path, "bias")

    def _trains(self, module: nn.Module, what: str) -> None:
        if not self._training(module):
            self.differs(f"is in eval mode, and {what}; call train() on it")

    def _conv(self, rank, module, path, input):
        weight, bias = self._both(module, path)
        return self.rules._conv(rank, input, weight, bias, module.stride, module.padding, module.dilation, module.groups, path,
                                module.padding_mode)

    def Conv1d(self, module, path, input):
        return self._conv(1, module, path, input)

    def Conv2d(self, module, path, input):
        return self._conv(2, module, path, input)

    def Linear(self, module, path, input):
        return self.rules.linear(input, *self._both(module, path), path)
    NonDynamicallyQuantizableLinear = Linear

    def Embedding(self, module, path, input):
        return self.rules.embedding(input, self._tensor(module, path, "weight"), module.padding_idx, module.max_norm, 2.0,
                                    module.scale_grad_by_freq, False, path)

    def _batch_norm(self, module, path, input):
        if not module.track_running_stats:
            raise Unfit("has no running statistics, and batch_norm has them; write track_running_stats=True")
        if not module.affine:
            raise Unfit("has no weight, and batch_norm has one; write affine=True")
        if module.momentum is None or not math.isclose(module.momentum, MOMENTUM):
            self.differs(f"has momentum={module.momentum}; running statistics here have {MOMENTUM}")
        self._trains(module, "batch_norm here computes its batch's statistics in training")
        value, order = self.rules._norm("batch_norm", input, 1, *self._both(module, path), module.eps, path)
        for name in ("running_mean", "running_var"):
            value.line.tensors[name] = self.rules._gain(self.weight(within(path, name)), order)
        return value

    def BatchNorm1d(self, module, path, input):
        return self._batch_norm(module, path, input)
    BatchNorm2d = BatchNorm1d

    def SyncBatchNorm(self, module, path, input):
        raise Unfit("sends statistics to all workers in every layer; batch_norm is of a worker's batch, so write nn.BatchNorm2d")

    def LayerNorm(self, module, path, input):
        if not module.elementwise_affine:
            raise Unfit("has no weight, and layer_norm has one; write elementwise_affine=True")
        return self.rules.layer_norm(input, module.normalized_shape, *self._both(module, path), module.eps, path)

    def RMSNorm(self, module, path, input):
        if not module.elementwise_affine:
            raise Unfit("has no weight, and rms_norm has one; write elementwise_affine=True")
        return self.rules.rms_norm(input, module.normalized_shape, self._tensor(module, path, "weight"), module.eps, path)

    def ReLU(self, module, path, input):
        return self.rules.relu(input, path=path)

    def Tanh(self, module, path, input):
        return self.rules.tanh(input, path=path)

    def SiLU(self, module, path, input):
        return self.rules.silu(input, path=path)

    def GELU(self, module, path, input):
        return self.rules.gelu(input, getattr(module, "approximate", "none"), path)

    def Dropout(self, module, path, input):
        if module.p:
            self._trains(module, "dropout here drops in training")
        return self.rules.dropout(input, module.p, path=path)

    def _plain_dropout(self, module, path, input):
        if module.p:
            self.differs(f"drops whole channels (p={module.p}); dropout here drops single numbers, so write nn.Dropout")
        return self.rules.dropout(input, module.p, path=path)
    Dropout1d = Dropout2d = Dropout3d = _plain_dropout

    def Softmax(self, module, path, input):
        return self.rules.softmax(input, module.dim)

    def LogSoftmax(self, module, path, input):
        return self.rules.log_softmax(input, module.dim)

    def MaxPool2d(self, module, path, input):
        rank = 2 if type(module).__name__.endswith("2d") else 1
        return self.rules._max_pool(rank, input, module.kernel_size, module.stride, module.padding, module.dilation, module.ceil_mode,
                                    module.return_indices, path)
    MaxPool1d = MaxPool2d

    def AvgPool2d(self, module, path, input):
        rank = 2 if type(module).__name__.endswith("2d") else 1
        return self.rules._average_pool(rank, input, module.kernel_size, module.stride, module.padding, module.ceil_mode,
                                        module.count_include_pad, getattr(module, "divisor_override", None), path)
    AvgPool1d = AvgPool2d

    def AdaptiveAvgPool2d(self, module, path, input):
        name = type(module).__name__
        return self.rules._adaptive("average_pool" if "Avg" in name else "max_pool", int(name[-2]), input, module.output_size, path)
    AdaptiveAvgPool1d = AdaptiveMaxPool1d = AdaptiveMaxPool2d = AdaptiveAvgPool2d

    # Transformers.

    def MultiheadAttention(self, module, path, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                           average_attn_weights=True, is_causal=False):
        if key is not query or value is not query:
            raise Unfit("is attention between two inputs; a line of attention is self-attention, as in attention(x, x, x)")
        if key_padding_mask is not None:
            raise Unfit("has a key_padding_mask; attention here sees all places, or is causal")
        if module.bias_k is not None or module.add_zero_attn:
            raise Unfit("has add_bias_kv or add_zero_attn; leave them out")
        if module.in_proj_weight is None:
            raise Unfit("has keys or values of another width; attention has one width")
        if module.in_proj_bias is None:
            raise Unfit("has no bias, and attention has one; write bias=True")
        if module.dropout:
            self.differs(f"drops shares of attention (dropout={module.dropout}); a line of attention drops none, so set "
                         f"module.{within(path, 'dropout')} = 0, which keeps other dropout")
        given = self.lines.plain(query)
        batch = batch_dim(given)
        order = self.lines.order_of_channels(given, -1)
        if given.index.dim() != 3 or order is None or batch != (0 if module.batch_first else 1):
            what = "[batch, places, channels]" if module.batch_first else "[places, batch, channels], or set batch_first=True"
            raise Unfit(f"reads {self.lines.described(given)}; write {what}")
        causal = self._causal(attn_mask, given.line.places)

        def named(name: str) -> Weight:
            return self.weight(within(path, name))
        first, out = named("in_proj_weight"), named("out_proj.weight")
        tensors = {"qkv.weight": first.ordered(1, order).source(), "qkv.bias": named("in_proj_bias").source(),
                   "out.weight": out.ordered(0, order).source(), "out.bias": named("out_proj.bias").ordered(0, order).source()}
        made = self.rules.attention.emit(given.line, module.num_heads, module.num_heads, causal, tensors, path, sides_of(given), batch)
        return made.viewed(made.index[..., order]), None

    @staticmethod
    def _causal(mask: Any, places: int) -> bool:
        if mask is None:
            return False
        if not isinstance(mask, Constant) or tuple(mask.real.shape) != (places, places):
            raise Unfit(f"has a mask that is no constant of [{places}, {places}]; attention is causal or sees all places")
        hidden = mask.real.cpu() if mask.real.dtype == torch.bool else mask.real.cpu() < -1e3
        if not bool(hidden.any()):
            return False
        if not torch.equal(hidden, torch.ones(places, places, dtype=torch.bool).triu(1)):
            raise Unfit("masks other places than those after each; attention is causal or sees all places")
        return True

    def TransformerEncoderLayer(self, module, path, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        if src_key_padding_mask is not None:
            raise Unfit("has a src_key_padding_mask; attention here sees all places, or is causal")
        def of(name: str, value: Any) -> Any:
            return self.apply(getattr(module, name), within(path, name), [value], {})

        def attend(x: Any) -> Any:
            return of("dropout1", self.MultiheadAttention(module.self_attn, within(path, "self_attn"), x, x, x, attn_mask=src_mask)[0])

        def act(x: Any) -> Any:
            if isinstance(module.activation, nn.Module):
                return self.apply(module.activation, "", [x], {})
            name = getattr(module.activation, "__name__", "")
            if name not in ("relu", "gelu", "silu", "tanh"):
                raise unknown(name)
            return getattr(self.rules, name)(x)

        def forward(x: Any) -> Any:
            return of("dropout2", of("linear2", of("dropout", act(of("linear1", x)))))
        if module.norm_first:
            x = self.lines.add(src, attend(of("norm1", src)))
            return self.lines.add(x, forward(of("norm2", x)))
        x = of("norm1", self.lines.add(src, attend(src)))
        return of("norm2", self.lines.add(x, forward(x)))

    def TransformerEncoder(self, module, path, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for number, layer in enumerate(module.layers):
            src = self.TransformerEncoderLayer(layer, within(path, f"layers.{number}"), src, mask,
                                               src_key_padding_mask)
        return src if module.norm is None else self.apply(module.norm, within(path, "norm"), [src], {})


KINDS = {name for name in vars(Modules) if name[0].isupper()}


def by_results(module: nn.Module) -> Optional[Tuple[str, Dict[str, Any]]]:
    """The rule that computes what a module without children computes, if it is that of an activation or of RMS norm; and its arguments."""
    parameters = [*module.parameters()]
    if any(True for _ in module.children()) or any(True for _ in module.buffers()) or len(parameters) > 2:
        return None
    try:
        if len(parameters) == 2:
            return _as_layer_norm(module, *parameters)
        if parameters:
            return _as_rms_norm(module, parameters[0])
        x = torch.linspace(-6, 6, 98).reshape(2, 49)
        given = module(x.clone())
        for name, named in (("relu", {}), ("tanh", {}), ("silu", {}), ("gelu", {}), ("gelu", {"approximate": "tanh"})):
            wanted = getattr(torch if name in ("relu", "tanh") else nn.functional, name)(x, **named)
            if isinstance(given, torch.Tensor) and given.shape == x.shape and torch.allclose(given, wanted, rtol=1e-6, atol=1e-6):
                return name, named
    except Exception:  # it wants other inputs
        pass
    return None


def _as_layer_norm(module: nn.Module, gain: torch.Tensor, bias: torch.Tensor) -> Optional[Tuple[str, Dict[str, Any]]]:
    if gain.dim() != 1 or gain.shape != bias.shape:
        return None
    x = 0.01 * torch.sin(torch.arange(3 * gain.numel(), dtype=gain.dtype, device=gain.device)).reshape(3, -1)
    given = module(x.clone())
    for eps in (1e-5, 1e-6, 1e-12, 1e-8, 1e-3):
        wanted = nn.functional.layer_norm(x, gain.shape, gain, bias, eps)
        if given.shape == x.shape and torch.allclose(given, wanted, rtol=1e-4, atol=1e-5):
            return "layer_norm", {"eps": eps}
    return None


def _as_rms_norm(module: nn.Module, gain: torch.Tensor) -> Optional[Tuple[str, Dict[str, Any]]]:
    if gain.dim() != 1 or not bool((gain != 0).all()):
        return None
    x = 0.01 * torch.linspace(1, 3, 3 * gain.numel(), dtype=gain.dtype, device=gain.device).reshape(3, -1) * torch.tensor(
        [[1.0], [2.0], [4.0]], dtype=gain.dtype, device=gain.device)
    squares = (x.double() * gain.double() / module(x).double()) ** 2  # mean square + eps, for each number
    eps = squares - (x.double() ** 2).mean(-1, keepdim=True)
    alike = torch.allclose(squares, squares[:, :1].expand_as(squares), rtol=1e-4)
    if not alike or not torch.allclose(eps, eps.mean().expand_as(eps), atol=3e-7):
        return None
    return "rms_norm", {"eps": float(f"{eps.mean().item():.1g}")}
