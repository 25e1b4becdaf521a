"""Groups of clients whose weights an aggregator averages some times, before the server averages the aggregators. Liu et al. 2020."""
from client_rounds import Rounds, steps_of_own
from clients import all_made, averaged, beside, by_count, clients_of, draw_settings, facts, letter, of_round, participants
from payloads import SERVER, Made, Notice, Weights
from schemes.fedavg import momentum_at_sync

FACTS = facts("hierarchical", aggregators=True, pace=6)


def settings(draw, p):
    chosen = {**draw_settings(draw, p), **momentum_at_sync(draw)}
    chosen.update({"aggregators": draw.randint(1, min(p, 3)), "edge_rounds": draw.randint(1, 3)})
    if chosen.get("deadline", {}).get("late") == "drop":
        chosen["deadline"]["time"] = f"{draw.randint(400, 900)}ms"  # so that somebody answers in the end
    return chosen


def worker(me, chosen):
    aggregator = me.cluster.aggregator_of(me.rank)
    me.first_weights = of_round(me.first_weights, participants(me, chosen))
    begins = me.life == 0 and me.rank in Rounds.first(me, chosen, aggregator.group)
    return steps_of_own(me, chosen, to=aggregator.rank, begins=begins)


def joined(made):
    """One contribution of each client, of all its rounds."""
    of = {}
    for each in made:
        first = of.setdefault(each.worker, Made(each.worker, each.read_version, each.position, 0, 0))
        first.steps, first.samples, first.spent = first.steps + each.steps, first.samples + each.samples, first.spent + each.spent
    return list(of.values())


def aggregator(me, chosen):
    weights, group, invited = of_round(me.first_weights, participants(me, chosen)), me.group, True
    rounds = Rounds(me, chosen, group)
    while True:
        start, made = weights, []
        for _ in range(chosen["edge_rounds"]):
            if not invited:
                rounds.invite(weights)
            invited = False
            parts = yield from rounds.contributions(weights)
            if not parts and not chosen.get("deadline"):
                break  # no client is there
            value, state = averaged(me, chosen, parts) if parts else (weights.value, beside(weights, "state"))
            made += all_made(parts)
            progress = sum(each.samples for each in all_made(parts)) * participants(me, chosen) // clients_of(chosen, len(group))
            weights = letter(Weights(value, start.version, weights.counted + max(progress, 1), [], weights.participants), state=state)
        mine = letter(Weights(weights.value, start.version, start.counted, joined(made)), state=beside(weights, "state"))
        yield me.send(SERVER, mine)
        weights = of_round((yield me.receive(Weights, SERVER)).content, participants(me, chosen))


def server(me, chosen):
    weights = me.first_weights
    while True:
        parts = {}
        while len(parts) < len(me.cluster.aggregators):
            index, message = yield me.arrival(Weights)
            if index == 0:
                parts[message.sender] = message.content
        counting = [parts[each.rank] for each in me.cluster.aggregators if parts[each.rank].made]
        if counting:
            value, state = averaged(me, chosen, counting, by_count(me, chosen, counting))
            weights = letter((yield me.cluster.publish(value, all_made(counting))), state=state)
            me.cluster.latest = weights
        while not counting and not me.cluster.members():
            if me.cluster.attendance:
                me.cluster.attendance.await_comers()
            yield me.receive(Notice)
        for each in me.cluster.aggregators:
            me.post(each.rank, weights)
