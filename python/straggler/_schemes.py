"""Schemes in Python: a class whose methods are generators over the Node interface (docs/python.md)."""
import difflib
import inspect
import keyword
import re
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _straggler
from ._errors import shown
from ._source import flag, flow, plain, word

_units = "(ns|us|\u00b5s|\u03bcs|ms|s|min|h)"
_exchanges = ("server", "all_reduce", "peers", "none")


class Parameter:
    """A parameter of a scheme, as a scenario writes it.

    type: count, number, fraction, time, bytes, rate, flops, boolean, choice, counts or text.
    default: as a scenario would write it; none: it is None unless the scenario sets it, or must be set if `required`.
    example: a value for checks and lists; needed if `required`.  low, high: bounds of a number, in SI.  choices: of a choice."""

    def __init__(self, type: str, default: Any = None, *, required: bool = False, example: Any = None, low: Optional[float] = None,
                 high: Optional[float] = None, choices: Optional[Sequence[str]] = None, meaning: str = ""):
        self.type, self.default, self.required, self.example = type, plain(default), required, plain(example)
        self.low, self.high, self.choices, self.meaning = low, high, list(choices) if choices else None, meaning
        if required and default is not None:
            raise ValueError("a parameter with a default is not required; leave one of them out")
        if required and example is None:
            raise ValueError("a required parameter needs an example, a value to try")


def _declared(default: Any) -> Parameter:
    """What a plain default declares."""
    if isinstance(default, Parameter):
        return default
    default = plain(default)
    if isinstance(default, bool):
        return Parameter("boolean", default)
    if isinstance(default, int):
        return Parameter("count", default)
    if isinstance(default, float):
        return Parameter("number", default)
    if isinstance(default, (list, tuple)) and default and all(isinstance(each, str) for each in default):
        return Parameter("choice", default[0], choices=default)
    if isinstance(default, str) and re.fullmatch(rf"[0-9.]+ ?{_units}", default):
        return Parameter("time", default)
    if isinstance(default, str):
        return Parameter("text", default)
    raise TypeError(f"{default!r} declares no parameter; write a number, a text, a list of choices, or straggler.Parameter(...)")


def _check_parameters(parameters: Any) -> None:
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters is {parameters!r:.80}; write names and defaults, as {{'slack': 2}}")
    for name in parameters:
        word = r"[A-Za-z][A-Za-z0-9_]*"
        if not isinstance(name, str) or not re.fullmatch(rf"{word}(\.{word})*", name) or keyword.iskeyword(name):
            raise ValueError(f"{name!r} cannot name a parameter, an attribute of self; write letters, digits and _, a letter first")
        if name in ("kind", "on_failure", "compression"):
            raise ValueError(f"'{name}' cannot name a parameter: a scenario gives each scheme's {name} under this name; choose another one")


def _check_attributes(cls: type, parameters: Mapping[str, Any]) -> None:
    for name in parameters:
        what = getattr(cls, name.replace(".", "_"), None)
        if callable(what) or hasattr(type(what), "__set__"):
            raise ValueError(f"'{name}' cannot name a parameter: {cls.__name__} has a method or property of that name, which its "
                             "value would hide; choose another one")


def check_decorated(decorator: str, name: Any) -> None:
    """Refuses what a decorator without parentheses is given, and names that are no text."""
    if callable(name):
        raise TypeError(f"@straggler.{decorator} stands without its arguments; write @straggler.{decorator}('name', …)")
    if not isinstance(name, str):
        raise TypeError(f"{name!r:.80} is no name; write @straggler.{decorator}('name', …)")


def check_function(decorator: str, what: Any) -> None:
    if not callable(what):
        raise TypeError(f"@straggler.{decorator} decorates {shown(what)}, which is no function")


def _texts(values: Mapping[str, Any]) -> Dict[str, str]:
    return {name: flow(value) for name, value in values.items()}


def _check_methods(cls: type, exchange: Any, aggregators: Any) -> None:
    needed = ["worker"] + (["server"] if exchange == "server" else []) + (["aggregator"] if aggregators is not None else [])
    for method, reason in (("server", "exchange='server'"), ("aggregator", "aggregators=…")):
        if hasattr(cls, method) and method not in needed and not callable(exchange):
            raise TypeError(f"{cls.__name__} has a method {method}, which would never run; write {reason}, or remove it")
    for method in needed:
        what = getattr(cls, method, None)
        if what is None:
            raise TypeError(f"{cls.__name__} has no method {method}(self, node), which a scheme with exchange '{exchange}' needs")
        if not inspect.isgeneratorfunction(what):
            raise TypeError(f"{cls.__name__}.{method} is no generator: write `yield` before what takes time, as "
                            "`yield node.send(…)`, and `yield from` before a method that does")


def scheme(name: str, *, needs_server: bool = False, exchange: Union[None, str, Callable[[Dict[str, Any]], str]] = None,
           parameters: Optional[Dict[str, Any]] = None, summary: str = "", reference: str = "", rule: str = "", waits: str = "",
           family: str = "asynchronous", asynchronous: Union[bool, Callable[[Dict[str, Any]], bool]] = True, versions: str = "shared",
           sends_gradients: Optional[bool] = None, answers_hold_own: bool = True, unanswered: bool = False,
           reduces: bool = False, on_failure: Union[str, Sequence[str]] = ("abort",), invited: Any = None,
           invites: bool = False, clients_keep_vectors: bool = False, selection: Any = None, average: Any = None,
           aggregators: Any = None, cell_chunks: Any = None, one_process: bool = False, minibatch: Any = None, only_workers: Optional[int] = None,
           updates_per_epoch: Union[None, str, Callable[..., Optional[float]]] = None, unfit: Any = None,
           workers_hold: str = "own_weights", worker_vectors: int = 0, outer_optimizer: Any = None,
           examples: Sequence[Mapping[str, Any]] = (), with_compression: Optional[Mapping[str, Any]] = None,
           not_compressible: str = "", paragraph: str = "") -> Callable[[type], type]:
    """Registers a class as a scheme of this process, under which scenarios, sweeps and races find it. Simulated only.

    The class has generator methods worker(self, node) and, if needed, server(self, node) or aggregator(self, node). They yield
    operations of the node. Each run makes an object of it, whose attributes are the parameters. All other state of a run
    belongs in the generators. Registering the same name again replaces the scheme, as when a cell is run again.

    needs_server: the same as exchange="server".  exchange: server, all_reduce, peers (messages between workers) or none.
    parameters: {name: default}: a number, a text, a list of choices (the first is the default), or a straggler.Parameter.
    asynchronous: False if every contribution was computed from the version before its update.
    versions: shared; lockstep or free_running if workers publish their own weights.
    sends_gradients: whether workers send gradients; without it, messages cannot be compressed.
    invited: how many workers the server invites to a round; the others wait for a message. invites: they may come and go
    (cluster.workers[i].availability).  selection: how node.draw_clients draws: "chance", "samples" or {"speed": candidates}.
    average: what workers count in its means, "plain" or "by_samples": races warn where entrants differ in it.
    clients_keep_vectors: one that leaves sends the server its node.kept, as Weights that have .leaves (node.left_by).
    aggregators: number of processes of the method `aggregator`.  one_process: worker 0 drives all (node.load, node.host_work).
    cell_chunks: number of pieces of the weights that workers share in their host's memory.  minibatch: samples of the pieces of a batch.
    workers_hold: same_version, own_version or own_weights; worker_vectors: vectors of a worker beside them. The memory estimate reads both.
    only_workers: the only number of workers.  unfit: why it cannot run with a number, or None.  examples: more sets of parameters to try.
    not_compressible: why messages cannot be compressed.  with_compression: {parameter: example} that compression needs; refused without it.
    answers_hold_own, unanswered, reduces: as in docs/add-a-scheme.md.  summary, paragraph: default: the docstring's first line, and the rest of it.
    outer_optimizer: of node.outer_optimizer(), as {"kind": "sgd", "learning_rate": 0.7, "momentum": 0.9}.
    on_failure: possible reactions of the others to a crash, of wait, drop and abort; the first is the default. Give wait or drop only if
    the generators handle a change of members.
    updates_per_epoch: "batches" if each batch is an update, "rounds" if each batch of all workers together is, or a function of
    (parameters, workers, batches in an epoch).
    A value that depends on the parameters may be a function of them: {name: value} (and of the number of workers for invited, aggregators
    and unfit)."""
    check_decorated("scheme", name)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise ValueError(f"'{name}' is no name of a scheme; write letters, digits, - and _, a letter first")
    if family not in _straggler.families:
        raise ValueError(f"family is '{family}'; known: {', '.join(_straggler.families)}")
    if updates_per_epoch not in (None, "batches", "rounds") and not callable(updates_per_epoch):
        raise ValueError(f"updates_per_epoch is '{updates_per_epoch}'; known: batches, rounds, a function, or leave it out")
    if isinstance(exchange, str) and exchange not in _exchanges:
        near = difflib.get_close_matches(exchange, _exchanges, 1)
        raise ValueError(f"exchange is '{exchange}'; {f'did you mean {near[0]!r}? ' if near else ''}known: {', '.join(_exchanges)}")
    needs_server = flag("needs_server", needs_server)
    for each, value in (("summary", summary), ("reference", reference), ("rule", rule), ("waits", waits), ("paragraph", paragraph),
                        ("not_compressible", not_compressible)):
        word(each, value)
    if sends_gradients is not None and not callable(sends_gradients):
        flag("sends_gradients", sends_gradients)
    if not isinstance(on_failure, (str, tuple, list)):
        raise TypeError(f"on_failure is {shown(on_failure)}; write a text, or a list of texts")
    if not isinstance(examples, (tuple, list)) or not all(isinstance(each, Mapping) for each in examples):
        raise TypeError(f"examples is {shown(examples)}; write a list of dicts")
    if with_compression is not None and not isinstance(with_compression, Mapping):
        raise TypeError(f"with_compression is {shown(with_compression)}; write a dict {{parameter: example}}")
    _check_parameters(parameters or {})
    if exchange is None:
        exchange = "server" if needs_server else "peers"
    elif needs_server and exchange != "server":
        raise ValueError("needs_server=True means exchange='server'; leave one of them out")

    def register(cls: type) -> type:
        if not isinstance(cls, type):
            raise TypeError(f"@straggler.scheme decorates {shown(cls)}, which is no class")
        _check_methods(cls, exchange, aggregators)
        _check_attributes(cls, parameters or {})
        declared = {each: _declared(default) for each, default in (parameters or {}).items()}
        specs: List[Dict[str, Any]] = []
        for each, parameter in declared.items():
            attribute = each.replace(".", "_")
            if parameter.default is None and not hasattr(cls, attribute):
                setattr(cls, attribute, None)
            specs.append({"name": each, "type": parameter.type, "required": parameter.required, "meaning": parameter.meaning,
                          "default": None if parameter.default is None else flow(parameter.default), "low": parameter.low,
                          "high": parameter.high, "choices": parameter.choices})
        tried = [{each: parameter.example for each, parameter in declared.items() if parameter.example is not None}, *examples]
        for each in {*(key for one in tried for key in one), *(with_compression or {})}:
            if each not in declared:
                raise ValueError(f"{name} has no parameter '{each}'; it has {', '.join(declared) or 'none'}")
        first_line, _, rest = (inspect.getdoc(cls) or "").partition("\n")
        _straggler.register_scheme({
            "name": name, "summary": summary or first_line or f"a scheme in Python, {cls.__name__}", "reference": reference, "rule": rule,
            "waits": waits, "family": family, "exchange": exchange, "asynchronous": asynchronous, "versions": versions,
            "sends_gradients": sends_gradients if callable(sends_gradients) else bool(sends_gradients),
            "answers_hold_own": answers_hold_own, "unanswered": unanswered,
            "reduces": reduces,
            "on_failure": [on_failure] if isinstance(on_failure, str) else list(on_failure),
            "invited": invited, "invites": invites, "clients_keep_vectors": clients_keep_vectors, "selection": selection,
            "average": average, "aggregators": aggregators,
            "cell_chunks": cell_chunks, "one_process": one_process, "minibatch": minibatch, "only_workers": only_workers,
            "updates_per_epoch": updates_per_epoch, "unfit": unfit, "workers_hold": workers_hold, "worker_vectors": worker_vectors,
            "outer_optimizer": outer_optimizer, "parameters": specs,
            "paragraph": paragraph or " ".join(rest.split()) or summary or first_line,
            "examples": [_texts(each) for each in tried if each], "code": uuid.uuid4().hex,
            "with_compression": _texts(with_compression or {}),
            "not_compressible": not_compressible or ("" if sends_gradients is not None else
            "@straggler.scheme does not say what its workers send; write sends_gradients=True or False")}, cls)
        return cls
    return register
