"""What schemes with steps of a worker's own share: the steps, and what a synchronization does to the optimizer's state.

docs/schemes.md: Local; docs/model.md: Schemes (optimizer state).
"""
from common import all_reduce
from payloads import Weights
from rounds import from_all
from training import mean
from weighing import shares as shares_of_batches


def draw_momentum(draw, p):
    """A worker alone whose adaptive optimizer is reset steps by the signs of its gradient: at its optimum rounding alone decides them."""
    return {"momentum_at_sync": draw.choice(["keep", "reset", "average"] if p > 1 else ["keep", "average"])}


def step_on(me, weights, batch):
    gradient = me.gradient(weights, batch)
    return weights.moved(me.step(weights, gradient.value), *gradient.made)


def steps(me, weights, count):
    """The weights after so many steps."""
    for _ in range(count):
        batch = me.draw()
        yield me.compute(batch)
        yield me.update()
        weights = step_on(me, weights, batch)
    return weights


class Brought:
    """Weights as a worker brings them to a mean, with its optimizer's state where this is averaged, too."""
    travels_as = "weights"

    def __init__(self, me, chosen, weights):
        self.version, self.made, self.value = weights.version, weights.made, weights.value
        self.state = me.optimizer.state() if chosen["momentum_at_sync"] == "average" else []
        self.vectors = 1 + len(self.state)


def mean_of(parts, shares=None):
    """Of values, and of states; a part without state counts as zero."""
    longest = max((part.state for part in parts), key=len)
    zero = [[0.0] * len(vector) for vector in longest]
    return mean([part.value for part in parts], shares), [mean(vectors, shares) for vectors in zip(*(part.state or zero for part in parts))]


def first_weights(me, chosen):
    """Who comes later has been sent the mean state, too."""
    if me.life and chosen["momentum_at_sync"] == "average" and me.cluster.server:
        me.optimizer.adopt(getattr(me.first_weights, "state", []))
    return me.first_weights


def after_sync(me, chosen, state):
    """What a worker does with its optimizer when it has the mean."""
    if chosen["momentum_at_sync"] == "reset":
        me.optimizer.reset()
    elif chosen["momentum_at_sync"] == "average":
        me.optimizer.adopt(state)


def average_by_all_reduce(me, chosen, weights):
    """The mean of all workers' weights, and the parts that it is made of."""
    mine = Brought(me, chosen, weights)
    parts = yield all_reduce(me, mine, mine.vectors)
    value, state = mean_of(parts, shares_of_batches(me, parts))
    after_sync(me, chosen, state)
    return value, parts


class Averaged(Weights):
    """A server's answer: a version, and the mean state."""
    state = ()


def average_by_server(me, chosen, weights):
    """Sends these weights; the version that is answered."""
    mine = Brought(me, chosen, weights)
    yield me.send("server", mine, mine.vectors)
    answer = (yield me.receive(Averaged, "server")).content
    after_sync(me, chosen, answer.state)
    return answer


def averaging_server(me, shares_of=None):
    """Publishes the mean of all workers' weights, and sends it to all."""
    weights = me.first_weights
    while True:
        parts = [message.content for message in (yield from from_all(me, weights.version, Brought))]
        value, state = mean_of(parts, shares_of(parts) if shares_of else shares_of_batches(me, parts))
        weights = yield me.cluster.publish(value, [made for part in parts for made in part.made])
        answer = Averaged(value, weights.version, weights.counted, participants=weights.participants)
        answer.state, weights.state, weights.vectors = state, state, 1 + len(state)
        me.broadcast(answer, vectors=1 + len(state))
