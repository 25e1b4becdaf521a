"""The server steps on the first k gradients, and on those in a window after them. Later ones are dropped, or are of the next update."""
from rounds import answer, gradients_to_server, step_on_mean
from windows import Deadline, Gathering

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


def settings(draw, p):
    chosen = {"k": draw.randint(1, p), "grace": f"{draw.choice([0, round(draw.uniform(1, 30), 3)])}ms", "late": draw.choice(["drop", "next"])}
    if draw.random() < 0.5:
        chosen["deadline"] = draw.choice([{"time": f"{round(draw.uniform(5, 60), 3)}ms"}, {"adaptive": draw.choice([0, 1.5, 3])}])
    return chosen


worker = gradients_to_server


def server(me, chosen):
    def late(message):
        me.cluster.drop(message.content.made)
        deadline.invited(message.sender, message.life)
        yield from answer(me, chosen, message, weights)

    weights, deadline = me.first_weights, Deadline(me, chosen.get("deadline"), me.p)
    for worker_ in me.cluster.workers:
        deadline.invited(worker_.rank, 0)
    while True:
        round_ = Gathering(me, weights.version if chosen["late"] == "drop" else None, late, deadline.arrived)
        seconds = deadline.seconds()
        closing = me.process.own(me.timer(seconds)) if seconds is not None else None
        yield from round_.first(chosen["k"])
        yield from round_.within(float(chosen["grace"][:-2]) / 1000)
        if closing or deadline.adapts():
            yield from round_.first(me.p, closing)
        if closing:
            closing.cancel()
        weights = yield from step_on_mean(me, weights, round_.parts())
        for part in round_.parts():
            deadline.invited(part.sender, part.life)
            me.post(part.sender, weights, life=part.life)
