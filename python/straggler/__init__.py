"""Straggler: which way of training finishes first on a cluster, and why. It runs the true gradient math of distributed SGD in simulated
time.

    import straggler
    run = straggler.run("scenario.yaml", set={"training.scheme": "asgd"})
    run.summary["time_to_target_s"]; run.curve; run.weights

Times are seconds of simulated time, sizes are bytes. docs/python.md goes from here to a scheme of your own."""
from . import _needs
from ._errors import DataError, Error, MemoryBudgetExceeded, ModelError, Problem, ResultsError, RunFailed, ScenarioError
from ._layers import NotExpressible, cost_model, layers, load_weights, save_weights
from ._measure import measure
from ._models import Arrays, model
from ._points import Advice, Check, Explained, Imported, Race, Sweep, advise, check, explain, import_job, list, race, sweep
from ._run import Comparison, Run, compare, run
from ._rules import optimizer, rule
from ._schemes import Parameter, scheme
from ._straggler import (Batch, Contribution, Drawing, Fragment, Gradient, MembershipNotice, Node, Operation, Optimizer, Peer, PushWeight,
                         Random, Rule, Samples, Signal, Token, Vector, Weights, first_of, first_of_in_flight)
from ._straggler import version as __version__
from ._torch_model import TorchModel, model_from_torch
