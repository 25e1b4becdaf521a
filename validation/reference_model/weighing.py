"""What a contribution counts in a mean over workers. docs/model.md: Unequal batches."""
import random

# Schemes whose means count batches; the others' means are plain.
WEIGHING = {"ssgd", "ssgd_all_reduce", "backup_workers", "k_sync", "k_batch_sync", "k_async", "k_batch_async", "rennala", "softsync",
            "local_sgd", "post_local_sgd", "slow_momentum", "diloco", "diloco_quorum", "quorum"}
# Those of them, and others, whose cases may have batches of each worker's own.
UNEQUAL = WEIGHING | {"asgd", "downpour"}
REBALANCING = {"ssgd", "ssgd_all_reduce"}  # their cases may have batches that follow the workers' times


def draw_batches(case):
    """Gives some cases a batch of each worker's own."""
    draw = random.Random(f"batches of case {case['number']}")
    if case["scheme_name"] not in UNEQUAL or case["compression"] or draw.random() >= 0.4:
        return
    case["own_batches"] = True
    for worker in case["workers"]:
        worker["batch"] = draw.randint(1, 6)
    if case["scheme_name"] in REBALANCING and len(case["workers"]) > 1 and draw.random() < 0.5:
        case["rebalance"] = draw.randint(1, 5)
        case.pop("recovery", None)
        case["faults"] = [fault for fault in case["faults"] if fault["kind"] in ("slow", "link")]
        for worker in case["workers"]:  # one pool, of equal samples, that no case comes to the end of
            worker["samples"], worker["point"] = 400, case["workers"][0]["point"]


def shares(me, parts):
    """Of these parts, which add up to 1: as their workers' batches, or equal ones. Each part says who made it."""
    case = me.cluster.case
    if not case.get("own_batches") or case["scheme_name"] not in WEIGHING:
        return [1 / len(parts)] * len(parts)
    if case.get("rebalance"):
        counts = [made.samples for part in parts for made in part.made]
    else:
        counts = [sum(case["workers"][worker]["batch"] for worker in {made.worker for made in part.made}) for part in parts]
    return [count / sum(counts) for count in counts]


def samples_of_all(me, own, participants):
    """Samples of all workers while this one computes so many: each computes as many batches."""
    case = me.cluster.case
    if not case.get("own_batches"):
        return own * participants
    return own * sum(worker["batch"] for worker in case["workers"]) // me.spec["batch"]


def rebalance(cluster, version, made):
    """A worker publishes that version; the first one that does so may end a period. docs/model.md: Live rebalancing."""
    every = cluster.case.get("rebalance")
    if not every or version <= cluster.balanced:
        return
    cluster.balanced = version
    for each in made:
        cluster.times.setdefault(each.worker, []).append(each.spent)
    if version % every:
        return
    speeds = {rank: cluster.batches[rank] * len(times) / sum(times) for rank, times in cluster.times.items()}
    samples = sum(cluster.batches[rank] for rank in speeds)
    mean_time = samples / sum(speeds.values())
    given = {rank: max(1, int(speed * mean_time)) for rank, speed in sorted(speeds.items())}
    while sum(given.values()) > samples:  # those that are held at 1 take samples from those that end last
        last = max((rank for rank in given if given[rank] > 1), key=lambda rank: given[rank] / speeds[rank])
        given[last] -= 1
    while sum(given.values()) < samples:
        given[min(given, key=lambda rank: (given[rank] + 1) / speeds[rank])] += 1
    ends = lambda batches: max(batches[rank] / speeds[rank] for rank in speeds)
    if ends(given) < ends(cluster.batches) * (1 - 1e-9):
        cluster.batches.update(given)
    cluster.times = {}
