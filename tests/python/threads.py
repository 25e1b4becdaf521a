"""What check_threads runs under helgrind: the module's threads with little to compute. Runs with math on two threads, beside another
thread of Python; a sweep and a race of schemes in Python on two threads each; an optimizer in numpy; objects that die on other threads."""
import gc
import sys
import threading

import numpy
import own_schemes  # registers them
import straggler

SCENARIO = {
    "straggler": 1, "name": "threads", "seed": 3,
    "devices": {"node": {"compute": {"affine": {"overhead": "2ms", "per_sample": "0.3ms"}}, "jitter": {"kind": "gamma", "shape": 2}}},
    "cluster": {"workers": [{"count": 2, "device": "node"}], "servers": {"count": 1},
                "network": {"link": {"bandwidth": "100Mbps", "latency": "100us"}}},
    "workload": {"model": {"kind": "mlp", "hidden": [4]}, "data": {"kind": "coordinates", "samples": 100, "test_samples": 20}},
    "training": {"scheme": {"kind": "py_asgd"}, "batch": {"per_worker": 10}, "optimizer": {"kind": "halves", "learning_rate": 0.1},
                 "stop": {"updates": 12}, "evaluate": {"every": {"epochs": 1}, "thresholds": [0.3]}},
}


@straggler.optimizer("halves", version=1)
def halves(weights, gradient, states, rate):
    return weights - rate * gradient / 2


def beside(stop, counted):
    while not stop.is_set():
        counted.append(len(straggler.list("schemes")))
        stop.wait(0.05)


def main():
    stop, counted = threading.Event(), []
    thread = threading.Thread(target=beside, args=(stop, counted))
    thread.start()
    told = []
    first = straggler.run(SCENARIO, threads=2, progress=lambda *now: told.append(now))
    sweep = straggler.sweep({"sweep": 1, "name": "seeds", "base": SCENARIO, "axes": {"seed": [1, 2, 3]}}, jobs=2, threads=1)
    race = straggler.race(SCENARIO, ["py_asgd", "ssgd"], seeds=2, jobs=2, threads=1)
    both = [threading.Thread(target=straggler.run, args=(SCENARIO,), kwargs={"threads": 1}) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    straggler.explain(SCENARIO, timing_only=True)
    stop.set()
    thread.join()
    gc.collect()
    assert counted and not sweep.failures and not race.failures and numpy.isfinite(first.summary["final_train_loss"])
    print("threads:", first, file=sys.stderr)


main()
