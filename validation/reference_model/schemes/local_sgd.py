"""Workers take steps of their own between two averages of all weights. Stich 2019; Zinkevich et al. 2010."""
import local
from common import publish
from compression import gathered

FACTS = {"compression": "weights", "update": True, "network": True, "reduces": lambda chosen: chosen["via"] == "all_reduce", "on_failure":
         ["wait", "wait", "drop", "drop", "abort"], "pace": 4}


def settings(draw, p):
    return {"steps": draw.randint(1, 4), "via": draw.choice(["all_reduce", "server"]), **local.draw_momentum(draw, p)}


def amend(case):
    if case.get("collective"):
        gathered(case)


def worker(me, chosen):
    weights = local.first_weights(me, chosen)
    while True:
        mine = yield from local.steps(me, weights, chosen["steps"])
        if chosen["via"] == "server":
            weights = yield from local.average_by_server(me, chosen, mine)
        else:
            value, parts = yield from local.average_by_all_reduce(me, chosen, mine)
            weights = yield publish(me, weights, value, parts)


def server(me, _chosen):
    return local.averaging_server(me)
