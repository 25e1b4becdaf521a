"""Stochastic gradient push: each worker sends half of its sum to one other, a different one in each step. Assran et al. 2019."""
from own_versions import PushSum, Share, own_step
from training import combination

FACTS = {"update": True, "versions": PushSum, "on_failure": ["drop", "drop", "wait", "wait", "abort"], "pace": 2}


def settings(_draw, _p):
    return {}


def distance(me, version):
    distances = (me.p - 1).bit_length()
    return 1 << version % distances if distances else 0


def peer_of(me, rank, step):
    """To whom it sends: the worker at the distance of that step, or the next that is in."""
    ranks = [(rank + distance(me, step) + k) % me.p for k in range(me.p)]
    return next((each for each in ranks if each != rank and me.cluster.own.is_in(each, step)), None)


def shares(me, step):
    """Those of all that send to it in this step, if they may come, and what else has come by then; later ones wait for their step."""
    own, found = me.cluster.own, []
    missing = {rank for rank in range(me.p) if rank != me.rank and own.is_in(rank, step) and peer_of(me, rank, step) == me.rank}
    arrived, own.early[me.rank] = own.early[me.rank], []
    while True:
        arrived += [message for message in me.mail if isinstance(message.content, Share)]
        me.mail = [message for message in me.mail if not isinstance(message.content, Share)]
        for message in arrived:
            if message.content.version > step:
                own.early[me.rank].append(message)
                continue
            if message.content.version == step:
                missing.discard(message.sender)
            found.append(message.content)
            own.held[me.rank] += message.content.weight
        arrived = []
        if not any(own.awaits(rank, step) for rank in missing):
            yield me.timer(0)  # what arrives at this instant counts
            if not any(isinstance(message.content, Share) for message in me.mail):
                return found
            continue
        which, message = yield me.arrival(Share)
        arrived = [message] if which == 0 else []


def estimate_of(weight, total, before):
    """Without weight the one before."""
    return combination((1 / weight, total)) if weight > 0 else before


def worker(me, _chosen):
    estimate, own = me.first_weights, me.cluster.own
    own.held[me.rank] = min(1.0, own.lost())
    total = combination((own.held[me.rank], estimate.value))
    while True:
        batch = me.draw()
        yield me.compute(batch)
        gradient = me.gradient(estimate, batch)
        yield me.update()
        total, peer = me.step(estimate.moved(total), gradient.value), peer_of(me, me.rank, estimate.version)
        if peer is not None:
            own.held[me.rank] /= 2
            total = combination((0.5, total))
            me.post(peer, Share(total, own.held[me.rank], estimate.version), size=4 * len(total) + 8)
        for share in (yield from shares(me, estimate.version)):
            total = combination((1, total), (1, share.value))
        lost, value = own.lost(), estimate_of(own.held[me.rank], total, estimate.value)
        if lost > 1e-12:
            own.held[me.rank] += lost
            total = combination((1, total), (lost, value))
            value = estimate_of(own.held[me.rank], total, value)
        estimate = yield from own_step(me, estimate, value, gradient)
