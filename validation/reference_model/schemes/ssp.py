"""The server steps on each gradient, and answers a worker when the slowest is at most s updates behind it. Ho et al. 2013."""
from payloads import Gradient
from rounds import answer, gradients_to_server

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


def settings(draw, _p):
    return {"slack": draw.randint(0, 3), "scale": draw.choice(["mean", "sum"])}


worker = gradients_to_server


class Clocks:
    """Updates of each worker. Who comes back has its former number, but is not behind the others, nor too far ahead of them."""

    def __init__(self, me, slack):
        self.me, self.slack, self.now, self.last = me, slack, {}, [0] * me.p
        self.look()

    def look(self):
        awaited = [rank for rank in range(self.me.p) if self.me.cluster.awaits(rank)]
        self.now = {rank: clock for rank, clock in self.now.items() if rank in awaited}
        for rank in awaited:
            if rank not in self.now:
                least = min(self.now.values(), default=self.last[rank])
                self.now[rank] = self.last[rank] = max(least, min(least + self.slack, self.last[rank]))

    def tick(self, rank):
        if rank in self.now:
            self.now[rank] += 1
            self.last[rank] = self.now[rank]

    def may_go_on(self, rank):
        return rank not in self.now or self.now[rank] - min(self.now.values()) <= self.slack


def server(me, chosen):
    weights, clocks, held = me.first_weights, Clocks(me, chosen["slack"]), []
    while True:
        which, arrived = yield me.arrival(Gradient)
        if which == 1:
            clocks.look()
        else:
            gradient = arrived.content
            direction = [g / me.p if chosen["scale"] == "mean" else g for g in gradient.value]
            value = me.step(weights, direction)
            yield me.update()
            weights = yield me.cluster.publish(value, gradient.made)
            clocks.tick(arrived.sender)
            held.append(arrived)
        while free := [each for each in held if clocks.may_go_on(each.sender)]:
            held.remove(free[0])
            yield from answer(me, chosen, free[0], weights)
