"""A run of a scenario, and comparisons of runs."""
import json
import os
import pathlib
import shutil
import tempfile
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _straggler, _tables
from ._errors import ResultsError, shown
from ._models import Arrays, Given, given, title_of
from ._progress import Progress, Teller
from ._source import ScenarioLike, Settings, flag, label, path, sets, source, threads_of, word

PathLike = Union[str, "os.PathLike[str]"]


def _words(seconds: float, epochs: float, updates: int, fraction: float, accuracy: Optional[float]) -> Tuple[float, str]:
    done = "" if accuracy is None else f", test accuracy {accuracy:.4f}"
    return fraction, f"{seconds:.4g} s simulated, epoch {epochs:.2f}, {updates} updates{done}"


def _read_weights(file: pathlib.Path) -> Dict[str, numpy.ndarray]:
    """Of model.safetensors: 8 bytes of length, a header in JSON, the numbers (32-bit floats, as runs write them)."""
    data = file.read_bytes()
    try:
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        found = {}
        for name, facts in header.items():
            if name != "__metadata__":
                first, end = facts["data_offsets"]
                found[name] = numpy.frombuffer(data[start + first:start + end], "<f4").reshape(facts["shape"]).copy()
        return found
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError) as error:
        raise ResultsError(f"{file}: is no model that a run wrote ({shown(error)})") from None


def _read_summary(folder: pathlib.Path) -> Dict[str, Any]:
    _straggler.refuse_newer_results(os.fsencode(folder))
    try:
        with open(folder / "summary.json", encoding="utf-8") as file:
            summary = json.load(file)
        missing = [key for key in ("name", "scheme", "workers", "outcome", "simulated_seconds")
                   if not isinstance(summary, dict) or key not in summary]
        if not missing and isinstance(summary["simulated_seconds"], (int, float)):
            return summary
        reason = f"it does not say {missing[0]}" if missing else "its simulated_seconds are no number"
    except (OSError, ValueError, RecursionError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else "it is no JSON"
    raise ResultsError(f"{folder}: is no result folder of a run (summary.json: {reason}); name the `out` of a run")


class Run:
    """Results of a run: its summary, its tables, its weights. In a notebook it shows its page. Run(folder) reads a result folder."""

    def __init__(self, folder: PathLike, weights: Optional[Dict[str, numpy.ndarray]] = None,
                 warnings: Sequence[str] = (), wall_seconds: Optional[float] = None, owns: Optional[str] = None,
                 notes: Sequence[str] = (), changes: Sequence[str] = (), given: Optional[Given] = None):
        self.folder = pathlib.Path(path("folder", folder))
        self.warnings = list(warnings)    #: sentences
        self.notes = list(notes)          #: sentences about the checkpoint that it went on from, and the results that it replaced
        self.wall_seconds = wall_seconds  #: that it took, not simulated
        self.summary: Dict[str, Any] = _read_summary(self.folder)  #: the scalars of summary.json; times in seconds of simulated time
        self._weights = weights
        self._changes = list(changes)  # "PATH=VALUE"
        self._how = {} if given is None else given.how()  # a page draws a timeline, of a run that is timed again
        self._tables: Dict[str, Any] = {}
        self._deleted = owns is not None
        if owns:
            weakref.finalize(self, shutil.rmtree, owns, ignore_errors=True)

    @property
    def weights(self) -> Optional[Dict[str, numpy.ndarray]]:
        """{name: array}; None with timing_only."""
        file = self.folder / "model.safetensors"
        if self._weights is None and file.exists():
            self._weights = _read_weights(file)
        return self._weights

    def table(self, name: str) -> _tables.Table:
        """curve, workers, thresholds, staleness, epochs, links, order or choices: a pandas.DataFrame where pandas is there, else a dict of
        numpy arrays. Columns are those of NAME.csv (docs/scenario.md): times in seconds, sizes in bytes."""
        if name not in self._tables:
            file = self.folder / f"{word('name', name)}.csv"
            if not file.exists():
                known = sorted(each.stem for each in self.folder.glob("*.csv"))
                raise KeyError(f"there is no table '{name}'; known: {', '.join(known)}")
            try:
                self._tables[name] = _tables.read_csv(file)
            except (OSError, ValueError, IndexError) as error:
                raise ResultsError(f"{file}: is no table that a run wrote ({shown(error)})") from None
        return self._tables[name]
    _table = table

    curve: _tables.Table = _tables.attribute("curve", "Losses and accuracies over simulated seconds, updates, epochs, bytes.")
    workers: _tables.Table = _tables.attribute("workers", "Seconds of each worker by what it did, its samples, bytes and staleness.")
    thresholds: _tables.Table = _tables.attribute("thresholds", "When each accuracy was reached; nan where it was not.")
    staleness: _tables.Table = _tables.attribute("staleness", "How many contributions had which staleness.")
    links: _tables.Table = _tables.attribute("links", "Bytes and use of each link.")
    order: _tables.Table = _tables.attribute("order", "Contributions in the order in which they were applied.")
    epochs: _tables.Table = _tables.attribute("epochs", "Means over workers of where an epoch's seconds went.")

    @property
    def scenario(self) -> str:
        """The scenario as read, with every default: YAML."""
        try:
            return (self.folder / "scenario.yaml").read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ResultsError(f"{self.folder / 'scenario.yaml'}: cannot be read ({shown(error)})") from None

    def page(self) -> str:
        """report.html: a page that needs nothing else."""
        return _straggler.run_page(str(self.folder), self._how)

    def save(self, folder: PathLike) -> pathlib.Path:
        """Copies the result folder, with its page. The folder must not exist."""
        folder = path("folder", folder)
        if os.path.exists(folder):
            raise ResultsError(f"{folder}: exists; name a folder that does not, or remove this one first")
        target = pathlib.Path(shutil.copytree(self.folder, folder))
        (target / "report.html").write_text(self.page(), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        return _tables.frame(self.page(), 720)

    def __repr__(self) -> str:
        facts = self.summary
        text = f"<straggler.Run {facts['name']}: {facts['scheme']} on {facts['workers']} workers, {facts['outcome']} after " \
               f"{facts['simulated_seconds']:.6g} s"
        if isinstance(facts.get("stalled"), str):
            text += f" ({facts['stalled']})"
        if isinstance(facts.get("final_test_accuracy"), float):
            text += f", test accuracy {facts['final_test_accuracy']:.4f}"
        return text + ">"


def _quantity(name: str, value: Union[int, str], wanted: str, unit: str = "") -> str:
    if isinstance(value, str):
        return word(name, value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {shown(value)}; write {wanted}")
    return f"{int(value)}{unit}"


def run(scenario: ScenarioLike, set: Settings = None, seed: Optional[int] = None, timing_only: bool = False,
        out: Optional[PathLike] = None, progress: Progress = False, *, model: Any = None, data: Optional[Arrays] = None,
        replay: Union[None, PathLike, Run] = None, trace: bool = False, threads: Union[int, str] = 0, kernels: str = "auto",
        force: bool = False, checkpoint_every: Union[None, int, str] = None, resume: bool = False,
        memory: Union[None, int, str] = None) -> Run:
    """Runs a scenario: a path, a text of YAML, or a dict.

    set: {path: value} or ["PATH=VALUE"], changes of the scenario.  seed: overrides the scenario's.
    model: in the place of workload.model, an object of a class under @straggler.model, or model_from_torch(module, loss).
    data: in the place of workload.data, Arrays.
    timing_only: the timing alone, without the math.  out: a folder for the results; by default they are kept until the Run is dropped.
    progress: True, or a function of (simulated seconds, epochs, updates, fraction done, test accuracy or None).
    replay: a result folder, or a Run, whose choices are forced.  trace: also trace.json.  threads: of the math; 0 is all
    cores, "auto" as many of them as are fastest.
    memory: of the whole run with its data, as "8GiB" or bytes; by default three quarters of the machine's.
    force: replaces the folder's content, even results of another scenario.
    checkpoint_every: saves the math in OUT.checkpoint: "10min" of wall-clock time, or a number of updates.  resume: continues from there
    after Ctrl-C or a kill, to the same bytes; with a scheme in Python only as long as the process has not defined it again.
    Raises ScenarioError with all problems of the scenario. Ctrl-C ends the run and raises KeyboardInterrupt."""
    timing_only, trace, force, resume = (flag(name, value) for name, value in (("timing_only", timing_only), ("trace", trace),
                                                                               ("force", force), ("resume", resume)))
    kernels = word("kernels", kernels)
    if checkpoint_every is not None:
        checkpoint_every = _quantity("checkpoint_every", checkpoint_every, "a text such as '10min', or a number of updates")
    if memory is not None:
        memory = _quantity("memory", memory, "a text such as '8GiB', or a number of bytes", "B")
    if checkpoint_every is not None or resume:
        if out is None:
            raise ValueError("a checkpoint lies beside the results; name their folder with out")
        if timing_only:
            raise ValueError("a checkpoint is about what the math has computed, which timing_only leaves out; remove one of them")
        if model is not None:
            raise ValueError(f"{title_of(model)}, cannot be resumed, since it lives in this process; leave checkpoint_every and resume out")
    hand = given(model, data)
    asked = source(scenario, set, seed, timing_only, hand.sets)
    replayed = replay.folder if isinstance(replay, Run) else replay  # `replay` stays: its folder goes with it
    how = {**hand.how(), "page": out is not None, "force": force, **threads_of(threads), "kernels": kernels, "trace": trace, "memory": memory,
           "replay": None if replayed is None else path("replay", replayed), "checkpoint_every": checkpoint_every, "resume": resume}
    if out is None:
        owns: Optional[str] = tempfile.mkdtemp(prefix="straggler-")
        folder = os.path.join(str(owns), "run")
    else:
        owns, folder = None, path("out", out)
    how["out"] = folder
    try:
        with Teller(progress, _words) as tell:
            done = _straggler.run(asked, how, tell)
    except BaseException:
        if owns:
            shutil.rmtree(owns, ignore_errors=True)
        raise
    return Run(folder, done["weights"], done["warnings"], done["wall_seconds"], owns, done["notes"],
               sets(set) + ([] if seed is None else [f"seed={seed}"]), hand)


class Comparison:
    """A comparison of runs. `table` has a row for each run; `verdict` says which wins and why."""

    def __init__(self, folders: Sequence[str], runs: Sequence[Run], labels: Sequence[str] = ()):
        self._folders, self._labels = list(folders), list(labels)
        self._runs = list(runs)  # whose folders must stay
        told = _straggler.compare(self._folders, self._labels)
        facts = json.loads(told["json"])
        self.text: str = told["text"]             #: what `straggler compare` prints
        self.verdict: str = facts["verdict"]      #: one sentence
        self.winner: Optional[str] = facts["winner"]
        self.notes: List[str] = facts["notes"]
        rows = [{"label": each["label"], **each["summary"], "speed_up": each["speed_up"]} for each in facts["runs"]]
        self.table = _tables.of_rows(rows, dict.fromkeys(column for row in rows for column in row))

    def page(self) -> str:
        """report.html of the comparison: learning curves of all runs in one picture."""
        return _straggler.compare_page(self._folders, self._labels, os.getcwd())

    def _repr_html_(self) -> str:
        return _tables.frame(self.page(), 720)

    def __repr__(self) -> str:
        return self.text


def _labels(runs: Sequence[Union[Run, PathLike]]) -> List[str]:
    """Of runs without folders of their own: their names, else their schemes, else the settings in which they differ; then a number. None:
    those of the command line do, folders."""
    known = [each if isinstance(each, Run) else Run(each) for each in runs]
    if not any(run._deleted for run in known):
        return []
    labels = [run.summary["name"] for run in known]
    if len({*labels}) == len(labels):
        return labels
    labels = [run.summary["scheme"] for run in known]
    if len({*labels}) < len(labels):
        shared = {*known[0]._changes}.intersection(*(run._changes for run in known))
        for i, run in enumerate(known):
            own = [each for each in run._changes if each not in shared and not each.startswith("training.scheme=")]
            labels[i] = " ".join([labels[i], *(each.rsplit(".", 1)[-1] if "." in each.split("=")[0] else each for each in own)])
    seen: Dict[str, int] = {}
    for i, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[i] = f"{label} {seen[label]}"
    return labels


def compare(runs: Union[Sequence[Union[Run, PathLike]], Mapping[str, Union[Run, PathLike]]], *others: Any) -> Comparison:
    """Compares runs, or result folders: time to accuracy, speed-ups, where the time went, and which wins and why.

    runs: a list, or {label: run}."""
    if others or isinstance(runs, (str, os.PathLike)) or not hasattr(runs, "__iter__"):
        raise TypeError("compare takes its runs as one list or dict; write compare([a, b]), or compare({'label': a, 'other': b})")
    labels = [label("a label", each) for each in runs] if isinstance(runs, Mapping) else []
    given = list(runs.values()) if isinstance(runs, Mapping) else list(runs)
    if not given:
        raise ValueError("there is nothing to compare; give runs or result folders")
    for each in given:
        if not isinstance(each, (Run, str, os.PathLike)):
            raise TypeError(f"{shown(each)} is no run; compare takes runs and result folders")
    folders = [path("a result folder", each.folder if isinstance(each, Run) else each) for each in given]
    return Comparison(folders, [each for each in given if isinstance(each, Run)], labels or _labels(given))
