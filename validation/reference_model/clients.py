"""Clients that are invited: their local training, and who is invited to a round. docs/model.md: Rounds of clients."""
import copy

import draws
from events import First
from payloads import Made, Weights
from training import combination, mean

PLAIN = ("scaffold", "feddyn", "fedbuff")  # whose mean is plain unless `average` says otherwise
WITHOUT_MEAN = ("fedasync",)


# Cases

def draw_settings(draw, p, rounds=True):
    """Parameters of all schemes with clients; some of them only with rounds."""
    chosen = {}
    size = draw.random()
    if size < 0.35:
        chosen["clients"] = draw.randint(1, p)
    elif size < 0.6:
        chosen["fraction"] = draw.choice([0.3, 0.5, 0.8])
    if draw.random() < 0.6:
        chosen["local_steps"] = draw.randint(1, 4)
    else:
        chosen["local_epochs"] = draw.randint(1, 2)
    selection = draw.random()
    if selection < 0.2:
        chosen["selection"] = {"kind": "by_samples"}
    elif selection < 0.4:
        chosen["selection"] = {"kind": "fastest_of", "d": draw.choice([1, 2, 3])}
    if rounds and draw.random() < 0.3:
        chosen["deadline"] = {"time": f"{draw.randint(15, 120)}ms", "late": draw.choice(["drop", "partial"])}
        if chosen["deadline"]["late"] == "drop" and int(chosen["deadline"]["time"][:-2]) % 3 == 0:
            chosen["deadline"] = {"adaptive": 2}
    if rounds and draw.random() < 0.3:
        chosen["over_select"] = draw.choice([1.3, 1.5, 2.0])
    return chosen


def facts(kind, **more):
    if kind not in WITHOUT_MEAN:
        more["average"] = ["plain", "by_samples"]
    return {"on_failure": ["drop", "drop", "wait", "wait", "abort"], "pace": 3, "availability": True, "smooth": True, **more}


def plain_sgd(optimizer):
    return optimizer["kind"] == "sgd" and not optimizer.get("nesterov")


def deadline_of(chosen):
    time = chosen.get("deadline", {}).get("time")
    return None if time is None else float(time[:-2]) / 1000


def is_partial(chosen):
    return chosen.get("deadline", {}).get("late") == "partial"


# Training on a client

def letter(weights, **more):
    """The same weights, with what travels beside them: `state`, the optimizer's vectors; `control`, one; `farewell`, in their place."""
    other = weights.moved(weights.value)
    other.more, other.vectors = more, 1 + len(more.get("state") or []) + (more.get("control") is not None)
    return other


def of_round(weights, participants):
    """The same weights, for a client that takes part in a round with so many."""
    other = copy.copy(weights)
    other.participants = participants
    return other


def beside(weights, name):
    return getattr(weights, "more", {}).get(name)


def batches(me, chosen):
    if "local_steps" in chosen:
        for _ in range(chosen["local_steps"]):
            yield me.draw()
        return
    for _ in range(chosen.get("local_epochs", 1)):
        left = me.spec["samples"]
        while left:
            batch = me.draw(min(left, me.spec["batch"]))
            left -= batch.size
            yield batch


def train(me, chosen, start, direction=None):
    """Local steps from `start`; returns the weights after them, with one contribution, and the gradients.

    direction(y, gradient): along which a step goes. With `late: partial` the time may be over before."""
    weights, gradients, work = Weights(start.value, start.version, start.counted, [], start.participants), [], None
    timer = me.timer(deadline_of(chosen)) if is_partial(chosen) else None
    if timer:
        me.process.own(timer)
    for batch in batches(me, chosen):
        me.memory["position"] = batch.position
        if timer:
            index, _ = yield First(timer, me.compute(batch))
            if index == 0:
                break
        else:
            yield me.compute(batch)
        gradient = me.gradient(weights, batch).value
        gradients.append(gradient)
        value = me.step(weights, direction(weights.value, gradient) if direction else gradient)
        if not work:
            work = Made(me.rank, start.version, batch.position, 0, 0)
        work.steps, work.samples, work.spent = work.steps + 1, work.samples + batch.size, work.spent + batch.spent
        weights = Weights(value, start.version, start.counted, [work], start.participants)
    if not work:
        weights.made = [Made(me.rank, start.version, me.memory.get("position", 0), 0, 0)]
    return weights, gradients


def pulled(weight, y, x, gradient):
    """A gradient, pulled from y back to x."""
    return combination((1, gradient), (weight, y), (-weight, x))


# Shares

def shares_of(me, chosen, parts):
    """Of each part, its share of the mean: of the samples of all, or the same where clients were drawn by their samples."""
    if chosen.get("selection", {}).get("kind") == "by_samples":
        return [1 / len(parts)] * len(parts)
    return by_count(me, chosen, parts)


def by_count(me, chosen, parts):
    """Of what the clients of all count."""
    counts = [sum(count_of(me, chosen, made.worker) for made in part.made) for part in parts]
    return [n / sum(counts) for n in counts]


def count_of(me, chosen, rank):
    """What a client counts in a mean: its samples, or 1."""
    average = chosen.get("average", "plain" if me.cluster.case["scheme_name"] in PLAIN else "by_samples")
    return me.cluster.workers[rank].spec["samples"] if average == "by_samples" else 1


def averaged(me, chosen, parts, shares=None):
    """The mean of weights, and of the optimizers' vectors beside them."""
    shares = shares or shares_of(me, chosen, parts)
    states = [beside(part, "state") or [] for part in parts]
    return mean([part.value for part in parts], shares), [mean(vectors, shares) for vectors in zip(*states)]


def all_made(parts):
    return [made for part in parts for made in part.made]


# Who is invited

def clients_of(chosen, number):
    if "clients" in chosen:
        return min(chosen["clients"], number)
    return max(1, int(chosen.get("fraction", 1) * number + 0.5))


def participants(me, chosen):
    """Clients of a round, of all groups together."""
    groups = [len(each.group) for each in me.cluster.aggregators] or [me.p]
    return sum(clients_of(chosen, number) for number in groups)


def seconds_of(me, chosen, rank):
    """A client alone: its batches without jitter, and the weights there and back over its own link."""
    spec = me.cluster.workers[rank].spec
    full, rest = divmod(spec["samples"], spec["batch"])
    if "local_steps" in chosen:
        sizes = [spec["batch"]] * chosen["local_steps"]
    else:
        sizes = ([spec["batch"]] * full + [rest] * (rest > 0)) * chosen.get("local_epochs", 1)
    work = sum(spec["overhead"] + size * spec["per_sample"] for size in sizes) * spec["slowdown"]
    return work + 2 * (4 * len(me.cluster.initial) / spec["bandwidth"] + spec["latency"])


def draw_clients(me, chosen, pool, count, number, may=lambda rank: True):
    """Draw `number` of a pool, in ascending order."""
    if count >= len(pool):
        return [rank for rank in pool if may(rank)]
    name = "server" if len(pool) == me.p else f"aggregator/{pool[0]}"
    stream = draws.Stream(me.cluster.case["seed"], name + "/sampled workers", number)
    selection = chosen.get("selection", {"kind": "uniform"})
    if selection["kind"] == "by_samples":
        samples = [me.cluster.workers[rank].spec["samples"] for rank in pool]
        return sorted(pool[i] for i in draws.by_samples(samples, count, stream, lambda i: may(pool[i])))
    places = selection["d"] if selection["kind"] == "fastest_of" else 1
    drawn = [pool[i] for i in draws.shuffled(len(pool), stream) if may(pool[i])][:min(count * places, len(pool))]
    if places > 1:
        drawn.sort(key=lambda rank: seconds_of(me, chosen, rank))
    return sorted(drawn[:count])
