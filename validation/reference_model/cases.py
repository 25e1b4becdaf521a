"""Random cases, and their scenarios. A case is a dict of plain values, so that it can be printed, changed and shrunk."""
import importlib
import json
import pathlib
import random

from availability import draw_availability
from compression import draw_compression, draw_zeros
from rollback import draw_recovery, recovery_of
from weighing import draw_batches

SCHEMES = sorted(path.stem for path in (pathlib.Path(__file__).parent / "schemes").glob("*.py"))
WITHOUT = {}  # schemes without a reference, and why
# What a case has where nothing else is said.
PLAIN = {"schedule": None, "clip": None, "compression": None, "coding": None, "faults": [], "processes": [], "server": None, "on_failure": "drop", "update": 0,
         "host": None, "protocol": None, "sharing": "max_min"}


def scheme_of(name):
    """The module of a scheme: settings(draw, p) draws its parameters; worker(node, settings) and server(node, settings) are its nodes.

    FACTS says what its cases may have: `kind` (if the file has another name), `answers` (it has that parameter), `on_failure` (its
    choices), `rolls_back` (it may), `faults` (kinds), `optimizers` (a function of one), `smooth` (adaptive ones have an epsilon that keeps rounding from
    choosing the sign of a first step), `reduces` (whether it all-reduces, a function of its parameters), `alone` (one worker is
    enough), `workers` (the only number), `pace` (updates take so many times as long as those of asgd), `update` (workers step, in some
    time), `host` (all are on one, whose inside is for `memory` or `messages`), `network` (several servers, processor time of messages,
    links that are not shared), `compression` (of "gradients" or "weights"), `aggregators` (it has them), `availability` (its clients
    may come and go), `average` (choices of that parameter). With `keeps_vectors` clients keep vectors from round to round. amend(case)
    is called at the end, where a scheme cannot have everything together.
    """
    return importlib.import_module("schemes." + name)


def kind_of(name):
    """The scheme whose cases a file describes, where they differ."""
    return getattr(scheme_of(name), "FACTS", {}).get("kind", name)


def kept_case(path):
    """A small case that once differed."""
    return {**PLAIN, **json.loads(path.read_text())}


def draw_case(number, names=SCHEMES):
    """The case of that number: schemes take turns, everything else is drawn."""
    draw = random.Random(f"case {number}")
    name = names[number % len(names)]
    scheme = scheme_of(name)
    facts = getattr(scheme, "FACTS", {})
    p = facts.get("workers") or draw.randint(1 if facts.get("alone", True) else 2, 6)
    workers = [{"slowdown": round(draw.uniform(0.7, 3), 3), "overhead": 0.004, "per_sample": 0.0013, "batch": draw.randint(2, 5),
                "samples": draw.randint(5, 14), "bandwidth": round(10 ** draw.uniform(2.7, 4.5)),
                "latency": round(draw.uniform(1e-5, 4e-3), 6),
                "point": [round(draw.uniform(-4, 4), 2) for _ in range(3)], "jitter": [round(draw.uniform(0.6, 2.2), 3) for _ in range(5)]}
               for _ in range(p)]
    batch = draw.randint(2, 5)
    for worker in workers:
        worker["batch"] = batch
    if draw.random() < 0.4:
        for worker in workers:
            worker["jitter"] = [1.0] * 5
    # Points have two digits, and the start four: no mean gradient is zero, of which Adam and signs would make a step.
    case = {**PLAIN, "number": number, "scheme_name": name, "workers": workers, "start": 1.5037, "condition": 4,
            "updates": draw.randint(6, 24), "optimizer": {"kind": "sgd", "learning_rate": draw.choice([0.05, 0.1])},
            "seed": draw.randrange(1000)}
    if hasattr(scheme, "server"):
        case["server"] = {"bandwidth": round(10 ** draw.uniform(3, 4.5)), "latency": round(draw.uniform(1e-5, 4e-3), 6),
                          "per_message": draw.choice([0, 0, 0.0007]), "update": draw.choice([0, 0, 5000]), "count": 1}
    case["scheme"] = scheme.settings(draw, p)
    if facts.get("reduces", lambda _: False)(case["scheme"]):
        case["server"], case["collective"] = None, draw_collective(draw, p, case)
    if facts.get("answers"):
        case["scheme"]["answers"] = draw.choice(["in_turn", "at_once"])
    case["on_failure"] = draw.choice(facts.get("on_failure", ["drop"]))
    if draw.random() < 0.5:
        case["optimizer"] = draw_optimizer(draw, facts)
    if draw.random() < 0.3:
        case["schedule"] = draw_schedule(draw)
    if draw.random() < 0.3:
        case["clip"] = draw_clip(draw)
    if draw.random() < 0.5:
        case["faults"] = draw_faults(draw, p, case, facts)
    if facts.get("update"):
        case["update"] = draw.choice([0, 0, 6000])
    if facts.get("host"):
        intra = {"bandwidth": round(10 ** draw.uniform(2.7, 4.5)), "latency": round(draw.uniform(1e-5, 4e-3), 6)}
        case["host"] = {facts["host"]: intra if draw.random() < 0.8 else None}
    if facts.get("network") and not case.get("collective"):
        draw_network(draw, case)
    if facts.get("compression") and draw.random() < 0.4:
        case["compression"] = draw_compression(draw, facts["compression"])
        if case["server"] and draw.random() < 0.4:  # not of collectives and gossip
            case["coding"] = {"worker": draw.choice([0, 3000, 9000]), "server": draw.choice([0, 4000])}
        if case["compression"]["kind"] == "signsgd" and draw.random() < 0.5:
            draw_zeros(draw, case)
    if facts.get("aggregators"):
        case["aggregator"] = {"bandwidth": round(10 ** draw.uniform(3, 4.5)), "latency": round(draw.uniform(1e-5, 4e-3), 6)}
    if facts.get("availability") and draw.random() < 0.25:
        case["availability"] = draw_availability(draw, p, 0.02 * case["updates"] * facts.get("pace", 1))
        case["faults"] = [fault for fault in case["faults"] if fault["kind"] in ("slow", "link")]
        if draw.random() < 0.4:
            case["server"]["bandwidth"] = round(10 ** draw.uniform(2.3, 3))  # clients come and go while it answers another
    if facts.get("average"):
        case["scheme"]["average"] = draw.choice(facts["average"])
    if hasattr(scheme, "amend"):
        scheme.amend(case)
    if facts.get("rolls_back") and case["faults"] and draw.random() < 0.5:
        draw_recovery(draw, case)
    draw_batches(case)
    if not case.get("processes") and not case.get("recovery"):  # a run that fails too often never ends
        draw_processes(random.Random(f"failures {number}"), case, facts)
    return case


def draw_processes(draw, case, facts):
    """Units that fail again and again, some times in a run. No two things happen at the same time."""
    case["processes"] = []
    end, p = 0.02 * case["updates"] * facts.get("pace", 1), len(case["workers"])
    stay = (case.get("collective", {}).get("start") or case.get("rebalance") or case.get("availability")
            or facts.get("faults") or facts.get("one_life") or "gamma" in case["scheme"])
    if draw.random() > 0.3 or set(facts.get("faults", [])) - {"crash", "slow", "link", "leave", "join"}:
        return
    law = lambda least, most: {"kind": draw.choice(["exponential", "exponential", "weibull"]), "mean": round(draw.uniform(least, most), 6)}
    shaped = lambda each: {**each, "shape": draw.choice([0.7, 2.0])} if each["kind"] == "weibull" else each
    every = shaped(law(0.4 * end, 2 * end))
    kind = "fail_slow" if stay else draw.choice(["random", "random", "preempt", "trace", "fail_slow"])
    links = not case.get("aggregators") and "aggregator" not in case and (not case["server"] or case["server"]["count"] == 1) and not case["host"]
    process = {"kind": kind, "of": draw.choice(["worker", "worker", "host", "all"]), "every": every}
    if kind == "random":
        process["repair"] = draw.choice([shaped(law(0.01, 0.1)), {"kind": "constant", "mean": 0.0417}, "never"])
        if links and draw.random() < 0.25:
            process.update({"of": "link", "repair": shaped(law(0.01, 0.1))})
    elif kind == "preempt":
        process.update({"of": draw.choice(["worker", "host"]), "notice": round(draw.uniform(0, 0.05), 6),
                        "back_after": draw.choice([shaped(law(0.01, 0.1)), "never"])})
    elif kind == "fail_slow":
        process["lasts"] = shaped(law(0.02, 0.2))
        if links and draw.random() < 0.4:
            process.update({"of": draw.choice(["worker", "link"]), "bandwidth_factor": draw.choice([0, 0.3])})
        else:
            process["times_slower"] = draw.choice([2.5, 6.0])
    else:
        begins = sorted(draw.uniform(0.002, end) for _ in range(draw.randint(1, 3)))
        ends = [begin + draw.uniform(0.001, 0.9 * (after - begin)) for begin, after in zip(begins, [*begins[1:], begins[-1] + 0.2])]
        process = {"kind": kind, "spans": [(draw.randrange(p), round(begin, 6), round(to, 6)) for begin, to in zip(begins, ends)]}
        process["spans"] = [(process["spans"][0][0], *span[1:]) for span in process["spans"]]
    case["processes"].append(process)


def draw_collective(draw, p, case):
    """One flow only on equal links, and where chunks are equal: only there its closed form is exact."""
    collective = {"algorithm": "ring", "fidelity": "stepwise", "launch": draw.choice([0, 0, 0.0006]),
                  "reduce_rate": draw.choice([0, 0, 9000])}
    if p in (2, 3, 4) and case["scheme"].get("fragments", 1) == 1 and draw.random() < 0.25:
        collective["fidelity"] = "fluid"
        for worker in case["workers"]:
            worker.update({name: case["workers"][0][name] for name in ("bandwidth", "latency")})
    elif draw.random() < 0.5:
        collective["algorithm"] = draw.choice(["recursive_doubling", "halving_doubling", "binomial_tree"])
    if collective["fidelity"] == "stepwise" and draw.random() < 0.25:
        collective["start"] = "as_they_come"
        if draw.random() < 0.5:
            collective["eager_up_to"] = draw.choice([0, 2, 3, 6])
    return collective


def draw_network(draw, case):
    if case["server"]:
        case["server"]["count"] = draw.choice([1, 1, 2, 3])
    if draw.random() < 0.3:
        case["protocol"] = {"per_message": draw.choice([0.0004, 0.001]), "copy_rate": draw.choice([3000, 20000])}
    case["sharing"] = draw.choice(["max_min", "max_min", "max_min", "none"])


def draw_optimizer(draw, facts):
    kinds = [{"kind": "sgd", "learning_rate": 0.05, "momentum": draw.choice([0.5, 0.9]), "nesterov": draw.random() < 0.4},
             {"kind": "sgd", "learning_rate": 0.08, "weight_decay": 0.05},
             {"kind": "adagrad", "learning_rate": 0.3}, {"kind": "adam", "learning_rate": 0.05},
             {"kind": "adamw", "learning_rate": 0.05, "weight_decay": 0.1}]
    if not facts.get("smooth"):
        kinds.append({"kind": "lion", "learning_rate": 0.02, "weight_decay": 0.1})
    chosen = draw.choice([kind for kind in kinds if facts.get("optimizers", lambda _: True)(kind)])
    if facts.get("smooth") and chosen["kind"] != "sgd":
        chosen["epsilon"] = 0.3  # as the largest rate: near the optimum steps are those of SGD at a rate of 1 or less, which is stable
    return chosen


def draw_schedule(draw):
    return draw.choice([{"kind": "step", "every": draw.choice([1.5, 2.5]), "factor": 0.5}, {"kind": "cosine", "epochs": 7.0},
                        {"kind": "polynomial", "epochs": 6.0, "power": 2.0, "end": 0.1},
                        {"kind": "warmup_stable_decay", "epochs": 5.0, "final": 0.1,
                         "decay": {"share": 0.6, "shape": draw.choice(["linear", "cosine", "sqrt"])}}])


def draw_clip(draw):
    """Gradients have a norm of some units at first, and less than one after some dozen updates."""
    return {"norm": draw.choice([0.3, 1.0, 3.0]), "at": draw.choice(["server", "worker"])}


def draw_faults(draw, p, case, facts):
    """Times are of the order of the run. Of one worker at most one of crash, leave and join, or they would contradict each other."""
    faults, end, moved = [], 0.02 * case["updates"] * facts.get("pace", 1), set()
    for _ in range(draw.randint(1, 3)):
        stay = case.get("collective", {}).get("start")  # nobody comes or goes
        kind = draw.choice(["slow", "link"] if stay else facts.get("faults", ["crash", "crash", "slow", "link", "leave", "join"]))
        fault = {"kind": kind, "worker": draw.randrange(p)}
        at = round(draw.uniform(0.002, end), 6)
        if kind in ("slow", "link"):
            fault.update({"from": at, "to": round(at + draw.uniform(0.01, 0.2), 6)})
            fault["times_slower" if kind == "slow" else "bandwidth_factor"] = draw.choice([2.5, 6.0] if kind == "slow" else [0, 0.3])
        elif fault["worker"] in moved or (kind == "join" and (p == 1 or any(other["kind"] == "join" for other in faults))):
            continue  # somebody is there from the beginning
        else:
            moved.add(fault["worker"])
            fault["at"] = at
            if kind == "crash" and draw.random() < 0.8:
                fault["restart_after"] = round(draw.uniform(0.001, 0.1), 6)
        faults.append(fault)
    return faults


def smaller(case):
    """Cases with one thing less, the largest steps first."""
    def changed(**values):
        return {**case, **values}
    if case["processes"]:
        yield changed(processes=[])
    for k in range(len(case["faults"])):
        yield changed(faults=case["faults"][:k] + case["faults"][k + 1:])
    if len(case["workers"]) > 1:
        last = len(case["workers"]) - 1
        yield changed(workers=case["workers"][:-1], faults=[fault for fault in case["faults"] if fault["worker"] != last])
    for key in ("schedule", "clip", "compression", "coding", "protocol", "update"):
        if case[key]:
            yield changed(**{key: PLAIN[key]})
    if case["optimizer"] != (plain := {"kind": "sgd", "learning_rate": 0.1}):
        yield changed(optimizer=plain)
    if case["server"] and (case["server"]["per_message"] or case["server"]["update"]):
        yield changed(server={**case["server"], "per_message": 0, "update": 0})
    for updates in (case["updates"] // 2, case["updates"] - 1):
        if 0 < updates < case["updates"]:
            yield changed(updates=updates)
    for key, plain in {"jitter": [1.0] * 5, "slowdown": 1.0, "latency": 1e-3, "bandwidth": 10000}.items():
        for k, worker in enumerate(case["workers"]):
            if worker[key] != plain:
                yield changed(workers=case["workers"][:k] + [{**worker, key: plain}] + case["workers"][k + 1:])


def seconds(value):
    return f"{round(value * 1e6, 3)}us"


def processes_of(case, folder):
    """As a scenario has them, with the file of a trace."""
    law = lambda each: each if isinstance(each, str) else {**each, "mean": f"{each['mean'] * 1e6:.9g}us"}
    out = []
    for process in case["processes"]:
        if process["kind"] == "trace":
            rows = ["unit,from_s,to_s", *(f"worker/{rank},{begin},{end}" for rank, begin, end in process["spans"])]
            (folder / "failures.csv").write_text("\n".join(rows) + "\n")
            out.append({"kind": "trace", "path": "failures.csv"})
            continue
        out.append({key: law(value) if key in ("every", "repair", "lasts", "back_after") else seconds(value) if key == "notice" else value
                    for key, value in process.items()})
    return out


def scenario_of(case, folder):
    """Writes the scenario of a case, and its files, into a folder; returns its path."""
    workers, p = case["workers"], len(case["workers"])
    rows, parts, first = ["a,b,c,label"], ["worker,first,count"], 0
    for rank, worker in enumerate(workers):
        rows += [",".join(map(str, worker["point"])) + f",{i % 2}" for i in range(worker["samples"])]
        parts.append(f"{rank},{first},{worker['samples']}")
        first += worker["samples"]
    for name, lines in {"data.csv": rows, "parts.csv": parts,
                        "jitter.csv": [",".join(str(worker["jitter"][k]) for worker in workers) for k in range(5)]}.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    link = lambda node: {"bandwidth": f"{node['bandwidth']}B/s", "latency": seconds(node["latency"])}
    optimizer = dict(case["optimizer"])
    stop = {"updates": case["updates"]}
    if case["schedule"]:
        schedule = {key: value for key, value in case["schedule"].items() if key != "epochs"}
        if "epochs" in case["schedule"]:
            stop["epochs"] = case["schedule"]["epochs"]
    faults = [{key: seconds(value) if key in ("at", "from", "to", "restart_after") else value for key, value in fault.items()}
              for fault in case["faults"]]
    faults += processes_of(case, folder)
    scheme = {"kind": kind_of(case["scheme_name"]), **case["scheme"]}
    if case["on_failure"] and (faults or case["on_failure"] != "drop"):
        scheme["on_failure"] = case["on_failure"]
    cluster = {"workers": [{"count": 1, "device": "node", "slowdown": worker["slowdown"], "link": link(worker)} for worker in workers],
               "network": {"link": {"bandwidth": "1MB/s", "latency": "1ms"}}, "faults": faults}
    if case.get("collective"):
        collective = case["collective"]
        cluster["network"]["collective"] = {"algorithm": collective["algorithm"], "fidelity": collective["fidelity"],
                                            "launch": seconds(collective["launch"])}
        if "start" in collective:
            cluster["network"]["collective"]["start"] = collective["start"]
        if "eager_up_to" in collective:
            cluster["network"]["collective"]["eager_up_to"] = f"{collective['eager_up_to']}B"
        if collective["reduce_rate"]:
            cluster["network"]["collective"]["reduce_rate"] = f"{collective['reduce_rate']}B/s"
    cluster["network"]["sharing"] = case["sharing"]
    if case["protocol"]:
        protocol = case["protocol"]
        cluster["network"]["protocol"] = {"per_message": seconds(protocol["per_message"]), "copy_rate": f"{protocol['copy_rate']}B/s"}
    if case["host"]:  # one for all workers
        for worker in cluster["workers"]:
            del worker["link"]
            worker["same_host"] = True
        cluster["workers"][0].update({"same_host": False, "per_host": p})
        intra, = case["host"].values()
        if intra:
            cluster["network"]["intra"] = link(intra)
    for rank, spans in enumerate((case.get("availability") or {"spans": []})["spans"]):
        path = f"present_{rank}.csv"
        rows = ["worker,from_s,to_s", *(f"7,{begin},{end}" for begin, end in reversed(spans)), f"8,0,{spans[0][1] / 2}"]
        (folder / path).write_text("\n".join(rows) + "\n")
        cluster["workers"][rank]["availability"] = {"kind": "trace", "path": path}
        if case["availability"]["repeat"]:
            cluster["workers"][rank]["availability"]["repeat"] = seconds(case["availability"]["repeat"])
    if case.get("aggregator"):
        cluster["aggregators"] = {"host": "own", "link": link(case["aggregator"])}
    if case["server"]:
        cluster["servers"] = {"count": case["server"]["count"], "link": link(case["server"])}
        if case["server"]["per_message"]:
            cluster["servers"]["per_message"] = seconds(case["server"]["per_message"])
        if case["server"]["update"]:
            cluster["servers"]["update"] = f"{case['server']['update']}B/s"
    training = {"scheme": scheme, "batch": {"per_worker": workers[0]["batch"]}, "optimizer": optimizer, "stop": stop,
                "evaluate": {"every": {"updates": 1}}}
    if case.get("recovery"):
        training["recovery"] = recovery_of(case, seconds)
    if case.get("rebalance"):
        training["batch"]["rebalance"] = {"every": {"updates": case["rebalance"]}}
    if case.get("own_batches"):
        for group, worker in zip(cluster["workers"], workers):
            group["batch"] = worker["batch"]
    if case["schedule"]:
        training["schedule"] = schedule
    if case["clip"]:
        training["clip"], training["clip_at"] = case["clip"]["norm"], case["clip"]["at"]
    if case["compression"]:
        training["compression"] = case["compression"]
    scenario = {"straggler": 1, "name": "case", "seed": case["seed"],
                "devices": {"node": {"compute": {"affine": {key: seconds(workers[0][key]) for key in ("overhead", "per_sample")}},
                                     "jitter": {"kind": "trace", "path": "jitter.csv", "offset": "none"}}},
                "cluster": cluster,
                "workload": {"model": {"kind": "quadratic", "condition": case["condition"], "start": case["start"]},
                             "data": {"kind": "csv", "normalize": "none", "path": "data.csv", "test_path": "data.csv",
                                      "partition": {"kind": "by_file", "path": "parts.csv"}}},
                "training": training}
    if case.get("rebalance"):
        scenario["workload"]["data"]["partition"] = "shared"
    for node, owner in (("worker", scenario["devices"]["node"]), ("server", cluster.get("servers"))):
        if case["coding"] and case["coding"][node]:
            owner["compress"] = f"{case['coding'][node]}B/s"
    if case["update"]:
        scenario["devices"]["node"]["update"] = f"{case['update']}B/s"
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(scenario, indent=1))
    return path
