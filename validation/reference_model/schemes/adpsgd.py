"""Active workers average with a random passive neighbour, which answers while it computes; both then step. Lian et al. 2018."""
from draws import Stream
from events import First
from graphs import around, columns_of, neighbours
from own_versions import FreeRunning, own_step
from payloads import Weights
from training import mean

FACTS = {"update": True, "network": True, "versions": FreeRunning, "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, p):
    fit = ["full"] + (["ring", "exponential"] if p % 2 == 0 else []) + (["torus"] if p == 4 else [])
    return {"graph": draw.choice(fit)}


def half(chosen, rank, p):
    """0: it asks; 1: it answers."""
    return sum(divmod(rank, columns_of(p))) % 2 if chosen["graph"] == "torus" else rank % 2


def partners(chosen, rank, p):
    """Of the other half. Exponential: 1, 3, 5, 9, 17, … places away."""
    edges = around(rank, p, [1, *(2 ** k + 1 for k in range(1, p) if 2 ** k + 1 < p)]) if chosen["graph"] == "exponential" else \
        neighbours(chosen["graph"], rank, p)
    return sorted(other for other in edges if half(chosen, other, p) != half(chosen, rank, p))


def worker(me, chosen):
    mine, own = me.first_weights, me.cluster.own
    others, active = partners(chosen, me.rank, me.p), half(chosen, me.rank, me.p) == 0
    while True:
        batch = me.draw()
        computing, gradient_at = me.process.own(me.compute(batch)), mine
        if active:
            yield computing
            mine = yield from ask(me, others, mine)
        else:
            while True:
                which, theirs = yield First(me.receive(Weights), computing)
                if which == 1:
                    break
                if me.cluster.is_member(theirs.sender):
                    me.post(theirs.sender, mine)
                    mine = mine.moved(mean([theirs.content.value, mine.value]))
                    own.averaged(me.rank, theirs.sender, theirs.content, mine)
        gradient = me.gradient(gradient_at, batch)
        yield me.update()
        mine = yield from own_step(me, mine, me.step(mine, gradient.value), gradient)


def ask(me, others, mine):
    """The average with a random member; without one, or if it goes before it answers, its own weights."""
    present = [rank for rank in others if me.cluster.is_member(rank)]
    if not present:
        return mine
    partner = present[Stream(me.cluster.case["seed"], f"worker/{me.rank}/partner", mine.version).below(len(present))]
    me.post(partner, mine)
    while me.cluster.is_member(partner):
        which, theirs = yield me.arrival_from(partner, Weights)
        if which == 0:
            mixed = mine.moved(mean([mine.value, theirs.content.value]))
            me.cluster.own.current[me.rank] = mixed
            return mixed
    return mine
