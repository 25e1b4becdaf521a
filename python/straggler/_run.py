"""A run of a scenario, and comparisons of runs."""
import json
import os
import pathlib
import shutil
import tempfile
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy

from . import _straggler, _tables
from ._progress import Progress, Teller
from ._source import ScenarioLike, Settings, count, source

def _words(seconds: float, epochs: float, updates: int, fraction: float, accuracy: Optional[float]) -> Tuple[float, str]:
    done = "" if accuracy is None else f", test accuracy {accuracy:.4f}"
    return fraction, f"{seconds:.4g} s simulated, epoch {epochs:.2f}, {updates} updates{done}"


class Run:
    """Results of a run: its summary, its tables, its weights. In a notebook it shows its page."""

    def __init__(self, folder: Union[str, "os.PathLike[str]"], weights: Optional[Dict[str, numpy.ndarray]] = None,
                 warnings: Sequence[str] = (), wall_seconds: Optional[float] = None, owns: Optional[str] = None,
                 notes: Sequence[str] = ()):
        self.folder = pathlib.Path(folder)
        self.weights = weights            #: {name: array}; None with timing_only
        self.warnings = list(warnings)    #: sentences
        self.notes = list(notes)          #: sentences about the checkpoint that it went on from
        self.wall_seconds = wall_seconds  #: that it took, not simulated
        with open(self.folder / "summary.json") as file:
            self.summary: Dict[str, Any] = json.load(file)  #: the scalars of summary.json; times in seconds of simulated time
        self._tables: Dict[str, Any] = {}
        if owns:
            weakref.finalize(self, shutil.rmtree, owns, ignore_errors=True)

    def table(self, name: str) -> _tables.Table:
        """curve, workers, thresholds, staleness, epochs, links, order or choices: a pandas.DataFrame where pandas is there, else a dict of
        numpy arrays. Columns are those of NAME.csv (docs/scenario.md): times in seconds, sizes in bytes."""
        if name not in self._tables:
            file = self.folder / f"{name}.csv"
            if not file.exists():
                known = sorted(each.stem for each in self.folder.glob("*.csv"))
                raise KeyError(f"there is no table '{name}'; known: {', '.join(known)}")
            self._tables[name] = _tables.read_csv(file)
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
        return (self.folder / "scenario.yaml").read_text()

    def page(self) -> str:
        """report.html: a page that needs nothing else."""
        return _straggler.run_page(str(self.folder))

    def save(self, folder: Union[str, "os.PathLike[str]"]) -> pathlib.Path:
        """Copies the result folder, with its page. The folder must not exist."""
        target = pathlib.Path(shutil.copytree(self.folder, folder))
        (target / "report.html").write_text(self.page())
        return target

    def _repr_html_(self) -> str:
        return _tables.frame(self.page(), 720)

    def __repr__(self) -> str:
        facts = self.summary
        text = f"<straggler.Run {facts['name']}: {facts['scheme']} on {facts['workers']} workers, {facts['outcome']} after " \
               f"{facts['simulated_seconds']:.6g} s"
        if facts.get("final_test_accuracy") is not None:
            text += f", test accuracy {facts['final_test_accuracy']:.4f}"
        return text + ">"


def run(scenario: ScenarioLike, set: Settings = None, seed: Optional[int] = None, timing_only: bool = False,
        out: Union[None, str, "os.PathLike[str]"] = None, progress: Progress = False, *,
        replay: Union[None, str, "os.PathLike[str]", Run] = None, trace: bool = False, threads: int = 0, kernels: str = "auto",
        force: bool = False, checkpoint_every: Union[None, int, str] = None, resume: bool = False) -> Run:
    """Runs a scenario: a path, a text of YAML, or a dict.

    set: {path: value} or ["PATH=VALUE"], changes of the scenario.  seed: overrides the scenario's.
    timing_only: the timing alone, without the math.  out: a folder for the results; by default they are kept until the Run is dropped.
    progress: True, or a function of (simulated seconds, epochs, updates, fraction done, test accuracy or None).
    replay: a result folder, or a Run, whose choices are forced.  trace: also trace.json.  threads: of the math; 0 is all cores.
    force: replaces the folder's content, even results of another scenario.
    checkpoint_every: saves the math in OUT.checkpoint: "10min" of wall-clock time, or a number of updates.  resume: continues from there
    after Ctrl-C or a kill, to the same bytes; with a scheme in Python only as long as the process has not defined it again.
    Raises ScenarioError with all problems of the scenario. Ctrl-C ends the run and raises KeyboardInterrupt."""
    if checkpoint_every is not None or resume:
        if out is None:
            raise ValueError("a checkpoint lies beside the results; name their folder with out")
        if timing_only:
            raise ValueError("a checkpoint is about what the math has computed, which timing_only leaves out; remove one of them")
    if out is None:
        owns: Optional[str] = tempfile.mkdtemp(prefix="straggler-")
        folder = os.path.join(str(owns), "run")
    else:
        owns, folder = None, os.fspath(out)
    if isinstance(replay, Run):
        replay = replay.folder
    how = {"out": folder, "page": out is not None, "force": force, "threads": count("threads", threads), "kernels": kernels, "trace": trace,
           "replay": None if replay is None else os.fspath(replay), "checkpoint_every": checkpoint_every, "resume": bool(resume)}
    try:
        with Teller(progress, _words) as tell:
            done = _straggler.run(source(scenario, set, seed, timing_only), how, tell)
    except BaseException:
        if owns:
            shutil.rmtree(owns, ignore_errors=True)
        raise
    return Run(folder, done["weights"], done["warnings"], done["wall_seconds"], owns, done["notes"])


class Comparison:
    """A comparison of runs. `table` has a row for each run; `verdict` says which wins and why."""

    def __init__(self, folders: Sequence[str], runs: Sequence[Run]):
        self._folders = list(folders)
        self._runs = list(runs)  # whose folders must stay
        told = _straggler.compare(self._folders)
        facts = json.loads(told["json"])
        self.text: str = told["text"]             #: what `straggler compare` prints
        self.verdict: str = facts["verdict"]      #: one sentence
        self.winner: Optional[str] = facts["winner"]
        self.notes: List[str] = facts["notes"]
        rows = [{"label": each["label"], **each["summary"], "speed_up": each["speed_up"]} for each in facts["runs"]]
        self.table = _tables.of_rows(rows, dict.fromkeys(column for row in rows for column in row))

    def page(self) -> str:
        """report.html of the comparison: learning curves of all runs in one picture."""
        return _straggler.compare_page(self._folders, os.getcwd())

    def _repr_html_(self) -> str:
        return _tables.frame(self.page(), 720)

    def __repr__(self) -> str:
        return self.text


def compare(runs: Sequence[Union[Run, str, "os.PathLike[str]"]]) -> Comparison:
    """Compares runs, or result folders: time to accuracy, speed-ups, where the time went, and which wins and why."""
    runs = list(runs)
    if not runs:
        raise ValueError("there is nothing to compare; give runs or result folders")
    folders = [os.fspath(each.folder if isinstance(each, Run) else each) for each in runs]
    return Comparison(folders, [each for each in runs if isinstance(each, Run)])
