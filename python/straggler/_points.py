"""Many runs: sweeps, searches and races; and checks of a scenario."""
import html
import io
import json
import os
import pathlib
import shutil
import tempfile
import warnings
import weakref
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _straggler, _tables
from ._errors import ResultsError, ScenarioError, shown
from ._models import Arrays, Given, given
from ._progress import Progress, Teller
from ._source import ScenarioLike, Settings, count, flag, flow, label, path, sets, source, text_or_path, threads_of, word

PathLike = Union[str, "os.PathLike[str]"]


def _renamed(error: ScenarioError, file: str, name: str) -> ScenarioError:
    return ScenarioError(str(error).replace(file, name), [each._replace(file=each.file.replace(file, name)) for each in error.problems])


@contextmanager
def _file(given: ScenarioLike, what: str) -> Iterator[str]:
    """The path of a file. A text or a dict becomes one in the current folder for a while, from where its relative paths start."""
    found = text_or_path(given, what)
    if "path" in found:
        yield found["path"]
        return
    try:
        file = tempfile.NamedTemporaryFile("w", prefix=f"{what}-", suffix=".yaml", dir=os.getcwd(), delete=False)
    except OSError:  # nothing can be written there
        file = tempfile.NamedTemporaryFile("w", prefix=f"{what}-", suffix=".yaml", delete=False)
    try:
        with file:
            file.write(found["text"])
        yield file.name
    except ScenarioError as error:
        raise _renamed(error, file.name, found["name"]) from None
    finally:
        os.unlink(file.name)


def _words(finished: int, points: int, running: int, failed: int) -> Tuple[float, str]:
    return finished / max(points, 1), f"{finished} of {points} points, {running} running, {failed} failed"


def _free(out: Optional[PathLike], state: Optional[str] = None) -> Optional[str]:
    """A folder that is new or empty, or has a file `state` to continue from."""
    if out is None:
        return None
    folder = path("out", out)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ResultsError(f"{folder}: is a file, not a folder; name another one with out")
    if os.path.exists(folder) and os.listdir(folder) and not (state and os.path.exists(os.path.join(folder, state))):
        raise ResultsError(f"{folder}: is not empty{' and holds no ' + state if state else ''}; name another folder with out")
    return folder


def _pool(hand: Given, jobs: int, threads: Union[int, str], kernels: str, set: Settings, timing_only: bool,
          out: Optional[str]) -> Dict[str, Any]:
    """What sweeps and races are told alike."""
    return {**hand.how(), "jobs": count("jobs", jobs), **threads_of(threads),
            "kernels": word("kernels", kernels), "sets": [*hand.sets, *sets(set)], "timing_only": flag("timing_only", timing_only),
            "out": out}


class _Written:
    """What a command writes into its folder, and what it prints."""

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        self._files: Dict[str, str] = done["files"]
        self.text: str = done["text"]  #: what the command line prints
        if out is not None:
            os.makedirs(out, exist_ok=True)
            _straggler.write_files(out, [*self._files.items()])

    def _table(self, name: str) -> Any:
        if name + ".csv" not in self._files:
            known = ", ".join(sorted(each[:-4] for each in self._files if each.endswith(".csv")))
            raise AttributeError(f"there is no table '{name}' here; there are {known}")
        return _tables.read_csv(io.StringIO(self._files[name + ".csv"]), missing="missed")

    def __repr__(self) -> str:
        return self.text


class _Files(_Written):
    """Results of many runs: tables, a page, text."""

    def page(self) -> str:
        """report.html."""
        return self._files["report.html"]

    def _repr_html_(self) -> str:
        return _tables.frame(self.page(), 720)


class _Points(_Files):
    """The same, of points of which some may have failed."""
    _consequence = ""

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        super().__init__(done, out)
        self.failures: List[str] = done["failures"]  #: of each point that failed: its name, the error, and where yours was raised
        if self.failures:
            first = self.failures[0].partition("\n")[0]
            told = f"{len(self.failures)} of {done['points']} points failed{self._consequence}; the first: {first}"
            self.text += f"warning: {told}\n"
            warnings.warn(told, RuntimeWarning, stacklevel=4)  # where sweep or race is called


class Sweep(_Points):
    """One scenario in many settings."""

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        super().__init__(done, out)
        #: Of a search for the value at which the winner changes: a dict for each change. `at`, and between which values it lies (`below`,
        #: `above`), as numbers in SI; who is ahead below it and above (`ahead_below`, `ahead_above`); `supported`: tests say so on both
        #: sides; `text`: `at` with its unit; and the sweep's axes.
        self.crossings: List[Dict[str, Any]] = done["crossings"]
    points: _tables.Table = _tables.attribute("points", "A row for each finished point: swept paths, repeat, seed, all scalars.")
    groups: _tables.Table = _tables.attribute("groups", "Mean, standard deviation, interval and count over repeats.")
    find: _tables.Table = _tables.attribute("find", "Of a search for the best setting: a row for each tried setting.")
    crossover: _tables.Table = _tables.attribute("crossover", "Of a search for the value at which the winner changes.")


class Race(_Points):
    """Schemes from the same seeds; with `tune`, all tuned alike."""
    _consequence = " and count as missed"

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        super().__init__(done, out)
        self.facts: Dict[str, Any] = json.loads(done["json"])  #: what `straggler race --json` prints
    table: _tables.Table = _tables.attribute("race", "A row for each entrant, finish and seed: time_s in seconds, or price, energy_joules or bytes; nan: missed.")
    verdicts: _tables.Table = _tables.attribute("verdicts", "A row for each finish and pair: the verdict, and the faster one.")
    tuning: _tables.Table = _tables.attribute("tuning", "A row for each setting that an entrant tried, if it was tuned.")


def sweep(sweep: ScenarioLike, jobs: int = 0, out: Optional[PathLike] = None, set: Settings = None, timing_only: bool = False,
          progress: Progress = False, *, model: Any = None, data: Optional[Arrays] = None, threads: Union[int, str] = 0,
          kernels: str = "auto") -> Sweep:
    """Runs a sweep file: a path, a text of YAML, or a dict. Relative paths in a text or a dict start from the current folder.

    jobs: points at a time; 0 is all cores.  out: a folder for the tables and the page, new or empty, or that of this sweep: its finished
    points are not run again.  progress: True, or a function of (points finished, points, running, failed).
    model, data: as in `run`; the model of all points.
    Where all points fail, the first one's exception is raised; where some do, they are in `failures`, with a warning."""
    folder = _free(out, "sweep.sqlite")
    how = _pool(given(model, data), jobs, threads, kernels, set, timing_only, folder)
    with _file(sweep, "sweep") as file, Teller(progress, _words) as tell:
        done = _straggler.sweep(file, how, tell)
    return Sweep(done, folder)


def _entrants(schemes: Union[Mapping[str, Any], Sequence[Any]]) -> List[str]:
    if isinstance(schemes, Mapping):
        return [f"{label('schemes: a label', name)}={flow(scheme, str(name))}" for name, scheme in schemes.items()]
    if isinstance(schemes, str):
        return [word("schemes", schemes)]
    if isinstance(schemes, bytes) or not hasattr(schemes, "__iter__"):
        raise TypeError(f"schemes is {shown(schemes)}; write a list, as ['ssgd', 'asgd'], or a dict {{label: scheme}}")
    for scheme in schemes:
        if not isinstance(scheme, (str, Mapping)):
            raise TypeError(f"schemes: {shown(scheme)} is no scheme; write its name, or a dict with its kind")
    return [flow(scheme) for scheme in schemes]


def _tuned(tune: Union[str, Sequence[str]]) -> List[str]:
    if not isinstance(tune, (str, tuple)) and not isinstance(tune, type([])):
        raise TypeError(f"tune is {shown(tune)}; write a list, as ['learning_rate', 'momentum']")
    return [word("tune", each) for each in ([tune] if isinstance(tune, str) else tune)]


def _changed(entrants: Optional[Mapping[str, Mapping[str, Any]]]) -> List[str]:
    if entrants is not None and not isinstance(entrants, Mapping):
        raise TypeError(f"entrants is {shown(entrants)}; write {{label: {{path: value}}}}")
    return [f"{label('entrants: a label', name)}: {flow(changes, str(name))}" for name, changes in (entrants or {}).items()]


def race(scenario: ScenarioLike, schemes: Union[Mapping[str, Any], Sequence[Any]], *, tune: Sequence[str] = (), budget: int = 20,
         tuning_seeds: int = 1, seeds: int = 5, paired: bool = True, entrants: Optional[Mapping[str, Mapping[str, Any]]] = None,
         set: Settings = None, timing_only: bool = False, jobs: int = 0, out: Optional[PathLike] = None,
         progress: Progress = False, model: Any = None, data: Optional[Arrays] = None, threads: Union[int, str] = 0,
         kernels: str = "auto", by: str = "time") -> Race:
    """A race: which scheme is first at every threshold, and is that significant?

    by: what decides who is first: "time", "price", "energy" or "bytes".

    schemes: names or dicts, as ["ssgd", {"kind": "ssp", "slack": 2}], or {label: scheme}.
    entrants: {label: {path: value}}, more that differ in any settings.
    tune: learning_rate, momentum, weight_decay or "PATH={from: A, to: B, scale: log}", tuned alike on held-out samples, `budget` settings
    each.  seeds: runs of each entrant, 2 to 50.  out: a folder for the tables and the page, new or empty, or that of this race: its
    finished runs are not run again.  model, data: as in `run`; the model of all entrants.
    Where all runs of an entrant fail, the first one's exception is raised; where some do, they are in `failures`, with a warning, and count
    as missed."""
    folder = _free(out, "race.sqlite")
    how = {**_pool(given(model, data), jobs, threads, kernels, set, timing_only, folder), "seeds": count("seeds", seeds),
           "paired": flag("paired", paired), "by": word("by", by),
           "schemes": _entrants(schemes), "tune": _tuned(tune), "budget": count("budget", budget, 1),
           "tuning_seeds": count("tuning_seeds", tuning_seeds, 1), "entrants": _changed(entrants)}
    with _file(scenario, "scenario") as file, Teller(progress, _words) as tell:
        done = _straggler.race(file, how, tell)
    return Race(done, folder)


class Check:
    """Facts about a scenario: workers, routes, bytes, memory."""

    def __init__(self, done: Dict[str, Any]):
        self.text: str = done["text"]                #: what `straggler check` prints
        self.warnings: List[str] = done["warnings"]  #: sentences

    def __repr__(self) -> str:
        return self.text


def check(scenario: ScenarioLike, set: Settings = None, timing_only: bool = False, layers: bool = False, *, model: Any = None,
          data: Optional[Arrays] = None) -> Check:
    """Reads and explains a scenario; runs nothing. Raises ScenarioError with all of its problems.

    layers: with a row for each layer of the model.  model, data: as in `run`."""
    hand = given(model, data)
    return Check(_straggler.check(source(scenario, set, None, timing_only, hand.sets), hand.how(), flag("layers", layers)))


class Explained(_Files):
    """Why a run takes as long as it does."""

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        super().__init__(done, out)
        self.warnings: List[str] = done["warnings"]  #: sentences

    causes: _tables.Table = _tables.attribute("explain", "A row for each cause that was removed.")
    elasticities: _tables.Table = _tables.attribute("elasticities", "A row for each small change.")
    slowdowns: _tables.Table = _tables.attribute("slowdowns", "The slowdown by stragglers: all, by kind of work, by worker.")
    step_slowdowns: _tables.Table = _tables.attribute("step_slowdowns", "The slowdown of each worker over the updates.")


def explain(scenario: ScenarioLike, set: Settings = None, seed: Optional[int] = None, timing_only: bool = False,
            out: Optional[PathLike] = None, *, model: Any = None, data: Optional[Arrays] = None, threads: Union[int, str] = 0,
            progress: Progress = False) -> Explained:
    """Runs the same work with one cause of its time removed after the other: jitter, slow workers, bandwidth, latency, the server, …

    out: a folder, new or empty, for the tables and the page.  progress: True, or a function of (number of the run, runs).
    model, data: as in `run`."""
    folder, hand = _free(out), given(model, data)
    how = {**hand.how(), **threads_of(threads), "out": folder}
    with Teller(progress, lambda run, runs: (run / max(runs, 1), f"run {run} of {runs}")) as tell:
        return Explained(_straggler.explain(source(scenario, set, seed, timing_only, hand.sets), how, tell), folder)


class Advice(_Files):
    """What to change, what it gains, and what it does to learning."""

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        super().__init__(done, out)
        self.warnings: List[str] = done["warnings"]                      #: sentences
        self.facts: Dict[str, Any] = json.loads(self._files["advise.json"])  #: what `straggler advise --json` prints

    remedies: _tables.Table = _tables.attribute("advise", "A row for each setting that was tried, each list from the best on.")


def advise(scenario: Union[ScenarioLike, "Imported"], set: Settings = None, seed: Optional[int] = None, timing_only: bool = False,
           out: Optional[PathLike] = None, *, only: Sequence[str] = (), by: str = "rate", all: bool = False, model: Any = None,
           data: Optional[Arrays] = None, threads: Union[int, str] = 0, progress: Progress = False) -> Advice:
    """Tries what people can change about a job, one remedy at a time: a scenario, the folder of an import, or an
    `Imported`.

    only: names of remedies.  by: "rate", each list by samples per second; "time", all together by the time to the target accuracy;
    "price" and "energy", all together by that of as many samples.
    all: the table also has what is left out, and why.  out, model, data, progress: as in `explain`."""
    if isinstance(scenario, Imported):
        return scenario.advise(set=set, seed=seed, timing_only=timing_only, out=out, only=only, by=by, all=all, model=model, data=data,
                               threads=threads, progress=progress)
    folder, hand = _free(out), given(model, data)
    how = {**hand.how(), **threads_of(threads), "out": folder,
           "only": [word("only", name) for name in ([only] if isinstance(only, str) else only)], "by": word("by", by),
           "all": flag("all", all)}
    with Teller(progress, lambda run, runs: (run / max(runs, 1), f"remedy {run} of {runs}")) as tell:
        return Advice(_straggler.advise(source(scenario, set, seed, timing_only, hand.sets), how, tell), folder)


class Imported(_Written):
    """What files describe. In a notebook a job shows its page."""

    def __init__(self, done: Dict[str, Any], out: Optional[str]):
        folder = tempfile.mkdtemp(prefix="straggler-") if out is None else out
        if out is None:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        super().__init__(done, folder)
        self.folder = pathlib.Path(folder)                                   #: `out`, or one that is there as long as this value
        self.facts: Dict[str, Any] = json.loads(self._files["import.json"])  #: what `straggler import --json` prints; times in seconds
        #: for `run`, `check`, `explain`, …; None: the files describe nothing that runs
        self.scenario: Optional[pathlib.Path] = self.folder / "scenario.yaml" if "scenario.yaml" in self._files else None
        if out is not None and (page := self.page()):
            _straggler.write_files(folder, [("report.html", page)])

    layers: _tables.Table = _tables.attribute("layers", "A row for each layer of a model: parameters, flops of a sample forward, …")

    def page(self) -> str:
        """report.html of a job: the measured step beside the replayed one; "": there is none. Replays it, the timing alone."""
        return _straggler.import_page(str(self.folder))

    def advise(self, **how: Any) -> Advice:
        """`straggler.advise` on this job."""
        return advise(self.folder, **how)

    def _repr_html_(self) -> str:
        page = self.page()
        return _tables.frame(page, 720) if page else f"<pre>{html.escape(self.text)}</pre>"

    def __repr__(self) -> str:
        return self.text


def import_job(*paths: PathLike, out: Optional[PathLike] = None, as_: Optional[str] = None,
               hold_out: Union[PathLike, Sequence[PathLike]] = (), **options: Any) -> Imported:
    """Reads what a job left behind, or what describes a model: all files of one job. `list("imports")` has the formats and their options.

    out: a folder for import.json, scenario.yaml, their tables and the page; it is new, empty, or of an earlier import.  as_: the format of files to read; None: any.
    hold_out: another run of the job, a path or a list of paths, which the claim predicts.
    Raises DataError where a file is missing, damaged, or of no format that is known."""
    if not paths:
        raise ValueError("there are no paths; name a file")
    files = [path("a path", each) for each in paths]
    one = isinstance(hold_out, (str, bytes)) or not hasattr(hold_out, "__iter__")
    held = [path("hold_out", each) for each in ([hold_out] if one else hold_out)]
    texts = {name: flow(value, name) for name, value in options.items()}
    folder = _free(out, "import.json")
    if folder is not None and os.path.exists(scenario := os.path.join(folder, "scenario.yaml")):
        with open(scenario, encoding="utf-8", errors="replace") as file:
            if not file.readline().startswith("# Imported by straggler"):
                raise ResultsError(f"{folder}: scenario.yaml was changed, since its first line is gone; name another folder with out")
    return Imported(_straggler.import_files(files, "" if as_ is None else word("as_", as_), held, texts), folder)


_groups = {"schemes": "scheme", "collectives": "collective", "topologies": "topology", "sharing": "sharing model", "jitter": "jitter",
           "models": "model", "cost_models": "cost model", "data": "data", "partitions": "partition", "optimizers": "optimizer",
           "schedules": "schedule", "compression": "compression", "devices": "built-in device", "availability": "availability",
           "layers": "layer", "laws": "law", "imports": "import"}


def list(group: Optional[str] = None) -> Any:
    """The kinds that a scenario can name: [{name, summary, parameters, …}] of a group such as "schemes", or {group: [...]} of all."""
    everything = _straggler.list_all()
    if group is None:
        return {name: everything[word] for name, word in _groups.items()}
    if not isinstance(group, str) or group not in _groups:
        raise ValueError(f"there is no group {shown(group)}; known: {', '.join(_groups)}")
    return everything[_groups[group]]
