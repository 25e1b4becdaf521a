"""What a contribution counts in a mean over workers. docs/model.md: Unequal batches."""
import random

# Schemes whose means count batches; the others' means are plain.
WEIGHING = {"ssgd", "ssgd_all_reduce", "backup_workers", "k_sync", "k_batch_sync", "k_async", "k_batch_async", "rennala", "softsync",
            "local_sgd", "post_local_sgd", "slow_momentum", "diloco"}
# Those of them, and others, whose cases may have batches of each worker's own.
UNEQUAL = WEIGHING | {"asgd", "downpour"}


def draw_batches(case):
    """Gives some cases a batch of each worker's own."""
    draw = random.Random(f"batches of case {case['number']}")
    if case["scheme_name"] not in UNEQUAL or case["compression"] or draw.random() >= 0.4:
        return
    case["own_batches"] = True
    for worker in case["workers"]:
        worker["batch"] = draw.randint(1, 6)


def shares(me, parts):
    """Of these parts, which add up to 1: as their workers' batches, or equal ones. Each part says who made it."""
    case = me.cluster.case
    if not case.get("own_batches") or case["scheme_name"] not in WEIGHING:
        return [1 / len(parts)] * len(parts)
    counts = [sum(case["workers"][worker]["batch"] for worker in {made.worker for made in part.made}) for part in parts]
    return [count / sum(counts) for count in counts]


def samples_of_all(me, own, participants):
    """Samples of all workers while this one computes so many: each computes as many batches."""
    case = me.cluster.case
    if not case.get("own_batches"):
        return own * participants
    return own * sum(worker["batch"] for worker in case["workers"]) // me.spec["batch"]
