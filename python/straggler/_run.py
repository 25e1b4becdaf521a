"""A run of a scenario, and comparisons of runs."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy

from . import _straggler, _tables
from ._source import ScenarioLike, Settings, source

Progress = Union[bool, Callable[..., None]]


def progress_teller(progress: Progress) -> Optional[Callable[..., None]]:
    """A function of (simulated seconds, epochs, updates, fraction done, test accuracy or None); None: no progress."""
    if callable(progress):
        return progress
    if not progress:
        return None

    def tell(seconds, epochs, updates, fraction, accuracy):
        done = "" if accuracy is None else f", test accuracy {accuracy:.4f}"
        print(f"\r{100 * fraction:3.0f} %  {seconds:.4g} s simulated, epoch {epochs:.2f}, {updates} updates{done}   ", end="",
              file=sys.stderr, flush=True)
    return tell


class Run:
    """Results of a run: its summary, its tables, its weights. In a notebook it shows its page."""

    def __init__(self, folder: Union[str, "os.PathLike[str]"], weights: Optional[Dict[str, numpy.ndarray]] = None,
                 warnings: Sequence[str] = (), wall_seconds: Optional[float] = None, owns: Optional[str] = None):
        self.folder = pathlib.Path(folder)
        self.weights = weights            #: {name: array}; None with timing_only
        self.warnings = list(warnings)    #: sentences
        self.wall_seconds = wall_seconds  #: that it took, not simulated
        with open(self.folder / "summary.json") as file:
            self.summary: Dict[str, Any] = json.load(file)  #: the scalars of summary.json; times in seconds of simulated time
        self._tables: Dict[str, Any] = {}
        if owns:
            weakref.finalize(self, shutil.rmtree, owns, ignore_errors=True)

    def table(self, name: str) -> Any:
        """curve, workers, thresholds, staleness, epochs, links, order or choices: a pandas.DataFrame where pandas is there, else a dict of
        numpy arrays. Columns are those of NAME.csv (docs/scenario.md): times in seconds, sizes in bytes."""
        if name not in self._tables:
            file = self.folder / f"{name}.csv"
            if not file.exists():
                known = sorted(each.stem for each in self.folder.glob("*.csv"))
                raise KeyError(f"there is no table '{name}'; known: {', '.join(known)}")
            self._tables[name] = _tables.read_csv(file)
        return self._tables[name]

    curve = property(lambda self: self.table("curve"), doc="Losses and accuracies over simulated seconds, updates, epochs, bytes.")
    workers = property(lambda self: self.table("workers"), doc="Seconds of each worker by what it did, its samples, bytes and staleness.")
    thresholds = property(lambda self: self.table("thresholds"), doc="When each accuracy was reached; nan where it was not.")
    staleness = property(lambda self: self.table("staleness"), doc="How many contributions had which staleness.")
    links = property(lambda self: self.table("links"), doc="Bytes and use of each link.")
    order = property(lambda self: self.table("order"), doc="Contributions in the order in which they were applied.")
    epochs = property(lambda self: self.table("epochs"), doc="Means over workers of where an epoch's seconds went.")

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
        force: bool = False) -> Run:
    """Runs a scenario: a path, a text of YAML, or a dict.

    set: {path: value} or ["PATH=VALUE"], changes of the scenario.  seed: overrides the scenario's.
    timing_only: when things happen, without the math.  out: a folder for the results; else they are kept until the Run is dropped.
    progress: True, or a function of (simulated seconds, epochs, updates, fraction done, test accuracy or None).
    replay: a result folder, or a Run, whose choices are forced.  trace: also trace.json.  threads: of the math; 0 is all cores.
    force: replaces what the folder holds, though it belongs to another scenario.
    Raises ScenarioError with all that is wrong with the scenario. Ctrl-C ends the run and raises KeyboardInterrupt."""
    owns = None if out is not None else tempfile.mkdtemp(prefix="straggler-")
    folder = os.fspath(out) if out is not None else os.path.join(owns, "run")
    tell = progress_teller(progress)
    if isinstance(replay, Run):
        replay = replay.folder
    how = {"out": folder, "page": out is not None, "force": force, "threads": threads, "kernels": kernels, "trace": trace,
           "replay": None if replay is None else os.fspath(replay)}
    try:
        done = _straggler.run(source(scenario, set, seed, timing_only), how, tell)
    except BaseException:
        if owns:
            shutil.rmtree(owns, ignore_errors=True)
        raise
    finally:
        if progress is True:
            print(file=sys.stderr)
    return Run(folder, done["weights"], done["warnings"], done["wall_seconds"], owns)


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
