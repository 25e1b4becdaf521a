"""Attention by hand: products of queries and keys, a mask, a softmax, the product with values, and the output's projection."""
import math
from typing import Any, Callable, Dict, List, Optional

import torch

from ._torch_lines import SAMPLES, Constant, Line, Lines, Source, Unfit, Value, Weight, batch_dim, last, of_sample, sides_of


class Heads:
    """Queries, keys or values: rows [heads][width] of a linear line's output."""

    def __init__(self, value: Value):
        index = value.index if value.index.dim() == 4 else value.index.unsqueeze(1)
        line = value.line
        if line.kind != "linear" or index.dim() != 4:
            raise Unfit(f"multiplies {Lines.described(value)}; two tensors are multiplied in attention only, and linear layers make them")
        sample = of_sample(Value(line, index))
        self.line, self.rows = line, sample[:, 0, :] // line.places
        wanted = self.rows[:, None, :] * line.places + torch.arange(line.places)[:, None]
        if sample.shape[1] != line.places or not torch.equal(sample, wanted):
            raise Unfit(f"multiplies {Lines.described(value)}; attention wants [batch, heads, places, channels of a head]")


class Scores(Line):
    """Products of queries and keys, or, with `shares`, their softmax. No line of a list by itself."""

    def __init__(self, queries: Heads, keys: Heads, causal: bool = False, shares: bool = False):
        super().__init__("scores", (queries.rows.shape[0], queries.line.places, queries.line.places), [queries.line, keys.line])
        self.queries, self.keys, self.causal, self.shares = queries, keys, causal, shares


class Context(Line):
    """Values, weighted by shares, [head][channel][place]. No line of a list by itself."""

    def __init__(self, scores: Scores, values: Heads):
        super().__init__("context", (scores.queries.rows.numel(), scores.queries.line.places, 1), [scores, values.line])
        self.scores, self.values = scores, values


class Attention:
    def __init__(self, lines: Lines, differs: Callable[[str], None]):
        self.lines, self.differs = lines, differs

    def product(self, a: Any, b: Any) -> Value:
        if not isinstance(a, Value) or not isinstance(b, Value):
            raise Unfit("multiplies matrices; a list does so in linear layers and attention only")
        if a.line.kind == "scores":
            return self._context(a, b)
        queries, keys = Heads(a), Heads(b.viewed(b.index.transpose(-1, -2)))
        return self._scores(queries, keys, a.scale * b.scale, a.index.dim())

    def _scores(self, queries: Heads, keys: Heads, scale: float, rank: int) -> Value:
        if queries.rows.shape != keys.rows.shape or queries.line.inputs != keys.line.inputs:
            raise Unfit("multiplies queries and keys of different places; a line of attention is self-attention")
        line = Scores(queries, keys)
        index = torch.arange(SAMPLES * line.size).reshape(SAMPLES, *line.shape)
        return Value(line, index if rank == 4 else index.squeeze(1), scale)

    def masked(self, value: Value, seen: torch.Tensor, fill: torch.Tensor) -> Value:
        line = value.line
        places = line.shape[1]
        if seen.dtype != torch.bool or fill.numel() and not bool((fill.double() < -1e3).all()):
            raise Unfit("masks scores by other numbers than -inf; write masked_fill(mask, float('-inf'))")
        try:
            seen = seen.cpu().broadcast_to(value.index.shape).reshape(-1, places, places)
        except RuntimeError:
            raise Unfit(f"masks scores by a tensor of shape {[*seen.shape]}; write one of [places, places]") from None
        if bool(seen.all()):
            return value
        if not bool((seen == torch.ones(places, places, dtype=torch.bool).tril()).all()):
            raise Unfit("masks other places than those after each; attention is causal or sees all places")
        return Value(Scores(line.queries, line.keys, True, line.shares), value.index, value.scale)

    def shares(self, value: Value, dim: Optional[int]) -> Value:
        line = value.line
        if dim not in (-1, value.index.dim() - 1):
            raise Unfit(f"is a softmax over dimension {dim} of the scores; attention's is over the last")
        self._check_scale(line, value.scale)
        return Value(Scores(line.queries, line.keys, line.causal, True), value.index)

    def _check_scale(self, line: Line, scale: float) -> None:
        width = line.queries.rows.shape[1]
        if not math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-5):
            self.differs(f"scales scores by {scale:.6g}; attention scales by 1 / sqrt({width}), so write that")

    def _context(self, shares: Value, value: Value) -> Value:
        if not shares.line.shares or not torch.equal(shares.index.reshape(-1), torch.arange(shares.index.numel())):
            raise Unfit("multiplies scores without their softmax; write the softmax over the last dimension before")
        if value.scale != 1:
            raise Unfit(f"multiplies values by {value.scale:.6g}; leave the factor out")
        queries, values = shares.line.queries, Heads(value)
        if values.rows.shape != queries.rows.shape or values.line.inputs != queries.line.inputs:
            raise Unfit("multiplies shares and values of different places; a line of attention is self-attention")
        line = Context(shares.line, values)
        index = torch.arange(SAMPLES * line.size).reshape(SAMPLES, *queries.rows.shape, line.places).transpose(2, 3)
        return Value(line, index if value.index.dim() == 4 else index.squeeze(1))

    def of_heads(self, query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, scale: Optional[float]) -> Value:
        """Of scaled_dot_product_attention's arguments."""
        if not all(isinstance(each, Value) for each in (query, key, value)):
            raise Unfit("is attention of what no layers make; give it what linear layers make")
        queries, keys = Heads(query), Heads(key)
        scores = self._scores(queries, keys, query.scale * key.scale * (scale or 1 / math.sqrt(queries.rows.shape[1])), query.index.dim())
        if causal:
            places = scores.line.shape[1]
            scores = self.masked(scores, torch.ones(places, places, dtype=torch.bool).tril(), torch.empty(0))
        if isinstance(mask, Constant):
            of_bits = mask.real.dtype == torch.bool
            seen = mask.real if of_bits else mask.real == 0
            scores = self.masked(scores, seen, torch.empty(0) if of_bits else mask.real[~seen])
        elif mask is not None:
            raise Unfit("has a mask that follows from the numbers; attention is causal or sees all places")
        if dropout:
            self.differs(f"drops shares of attention (p={dropout}); a line of attention drops none, so write 0")
        return self._context(self.shares(scores, -1), value)

    def projected(self, context: Value, weight: Weight, bias: Optional[Weight], path: str) -> Value:
        """The line of attention, at its output's projection."""
        line = context.line
        queries, keys, values = line.scores.queries, line.scores.keys, line.values
        order = self.lines.order_of_channels(context, -1)
        parts = [queries, keys, values]
        if order is None or context.scale != 1:
            raise Unfit(f"projects {Lines.described(context)}; attention's output is [batch, places, channels], all heads side by side")
        source = queries.line.inputs[0]
        if weight.shape[0] != source.channels or line.channels != source.channels:
            raise Unfit(f"is attention of {source.channels} channels with heads of {line.channels} and an output of {weight.shape[0]}; "
                        f"write equal numbers")
        if bias is None or any(part.line.bias is None for part in parts):
            raise Unfit("is attention with projections that have no bias; here they have one, so write bias=True")
        kept = self._shared(keys, values)
        rows = [queries.rows.reshape(-1)] + [part.rows[kept].reshape(-1) for part in (keys, values)]
        weights = [part.line.weight.ordered(1, part.line.order) for part in parts]
        tensors = {"qkv.weight": joined([each.viewed(each.index[own]).source() for each, own in zip(weights, rows)]),
                   "qkv.bias": joined([part.line.bias.viewed(part.line.bias.index[own]).source() for part, own in zip(parts, rows)]),
                   "out.weight": weight.ordered(1, order).source(), "out.bias": bias.source()}
        return self.emit(source, queries.rows.shape[0], len(kept), line.scores.causal, tensors, path.rpartition(".")[0] or path,
                         sides_of(context), batch_dim(context))

    @staticmethod
    def _shared(keys: Heads, values: Heads) -> List[int]:
        """The heads of keys and values that differ; each serves as many heads of queries, one after the other."""
        heads = keys.rows.shape[0]
        both = torch.cat([keys.rows, values.rows], 1)
        for count in range(1, heads + 1):
            if heads % count == 0 and torch.equal(both, both[::heads // count].repeat_interleave(heads // count, 0)):
                return [*range(0, heads, heads // count)]
        return [*range(heads)]

    def emit(self, source: Line, heads: int, shared: int, causal: bool, tensors: Dict[str, Source], path: str, sides: List[int],
             batch: int) -> Value:
        parameters: Dict[str, Any] = {"attention": heads}
        if shared != heads:
            parameters["key_value_heads"] = shared
        if causal:
            parameters["causal"] = True
        source = self.lines.sequence(source)
        return last(self.lines.emit("attention", [source], source.shape, parameters, tensors, path), sides, batch)


def joined(sources: List[Source]) -> Source:
    return Source(tuple(part for source in sources for part in source.parts))
