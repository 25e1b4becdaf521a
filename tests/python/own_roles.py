"""More schemes that are C++ files, written again in Python: those that vote, invite clients, aggregate, share memory, drive all workers
from one process, or push sums. Operation by operation, so that all results must be the same bytes."""
import math

import straggler
from straggler import Drawing, Gradient, MembershipNotice, Samples, Weights, first_of


@straggler.scheme("py_ssgd", needs_server=True, asynchronous=False, sends_gradients=True, family="synchronous",
                  on_failure=("drop", "wait", "abort"), updates_per_epoch="rounds", workers_hold="same_version")
class Ssgd:
    """Synchronous SGD by a server, which answers a vote where one is taken."""

    def worker(self, node):
        weights = node.initial_weights()
        while True:
            gradient = yield node.gradient(weights, node.next_batch(node.batch_size))
            yield node.send(node.server, gradient)
            if not node.votes:
                weights = yield node.receive(Weights, node.server)
                continue
            vote = yield node.receive(Gradient, node.server)
            stepped = yield node.step(weights, vote)
            weights = node.of_version(stepped, vote)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            gradients = yield node.gather(Gradient, weights.version)
            direction = node.vote(gradients) if node.votes else node.mean(gradients)
            weights = yield node.step(weights, direction)
            weights = yield node.publish(weights)
            node.broadcast(node.leading_to(direction, weights) if node.votes else weights)


@straggler.scheme("py_hogwild", exchange="none", parameters={"chunks": 16}, cell_chunks=lambda given: given["chunks"],
                  on_failure=("drop", "abort"), updates_per_epoch="batches", workers_hold="own_version")
class Hogwild:
    def worker(self, node):
        while True:
            read = yield node.read_cell()
            gradient = yield node.gradient(read, node.next_batch(node.batch_size))
            stepped = yield node.step_cell(gradient)
            yield node.publish(stepped)


@straggler.scheme("py_data_parallel", exchange="peers", parameters={"dispatch": "1ms", "overhead": "2ms", "ahead": False},
                  asynchronous=False, sends_gradients=True, family="synchronous", one_process=True, workers_hold="same_version",
                  updates_per_epoch=lambda given, workers, batches: batches / workers)
class DataParallel:
    """One process loads and dispatches for all devices, and steps on device 0."""

    def worker(self, node):
        yield from self.host(node) if node.rank == 0 else self.device(node)

    def host(self, node):
        drawings = [Drawing() for _ in range(node.workers)]
        weights = node.initial_weights()
        while True:
            pieces = [node.next_batch_of(rank, drawings[rank], node.batch_size_of(rank)) for rank in range(node.workers)]
            yield node.load(pieces[0], sum(piece.size for piece in pieces))
            yield node.host_work(self.overhead + self.dispatch * node.workers, ahead=self.ahead)
            for payloads in ([Samples(piece, node.input_bytes) for piece in pieces], [weights] * node.workers):
                for leaving in [node.begin(node.send(rank, payloads[rank])) for rank in range(1, node.workers)]:
                    yield leaving
            gradients = [(yield node.gradient(weights, pieces[0]))]
            for rank in range(1, node.workers):
                yield node.receive(Samples, rank)
            for rank in range(1, node.workers):
                gradients.append((yield node.receive(Gradient, rank)))
            samples = [each.samples for each in gradients]
            alike = len(set(samples)) == 1
            whole = node.mean(gradients) if alike else node.weighted_sum(gradients, [each / sum(samples) for each in samples])
            weights = yield node.step(weights, whole)
            weights = yield node.publish(weights)

    def device(self, node):
        while True:
            mine = yield node.receive(Samples, 0)
            weights = yield node.receive(Weights, 0)
            gradient = yield node.gradient(weights, mine.batch)
            yield node.send(0, Samples(mine.batch, node.output_bytes))
            yield node.send(0, gradient)


@straggler.scheme("py_sgp", exchange="peers", asynchronous=False, versions="lockstep", family="gossip", sends_gradients=False,
                  on_failure=("drop", "wait", "abort"), updates_per_epoch="rounds", not_compressible="peers change from step to step")
class Sgp:
    """Stochastic gradient push."""

    def worker(self, node):
        estimate = node.initial_weights()
        weight = node.push_weight(1)
        total = node.blend(estimate, [estimate], [weight.amount])
        early = []
        while True:
            gradient = yield node.gradient(estimate, node.next_batch(node.batch_size))
            total = yield node.step(total, gradient)
            parts, shares = [total], [1.0]
            peer = self.peer_of(node, total.version)
            if peer is not None:
                node.post(peer, node.with_push_weight(node.without_contributions(total), weight.half()))
                shares[0] = 0.5
            for each in (yield from self.receive_shares(node, total.version, early)):
                weight.add(node.take_push_weight(each))
                parts.append(each)
                shares.append(0.5)
            total = node.blend(total, parts, shares)
            estimate = self.estimate_of(node, total, weight.amount, estimate)
            if node.members_change:
                lost = node.push_weight(math.inf)
                if lost.amount > 0:
                    total = node.blend(total, [total, estimate], [1, lost.amount])
                    weight.add(lost)
                    estimate = self.estimate_of(node, total, weight.amount, estimate)
            estimate = yield node.publish(estimate)
            total = node.blend(estimate, [total], [1])

    def distance_at(self, version, workers):
        distances = (workers - 1).bit_length()
        return 0 if distances == 0 else 1 << version % distances

    def peer_of(self, node, version):
        distance = self.distance_at(version, node.workers)
        for k in range(node.workers):
            rank = (node.rank + distance + k) % node.workers
            if rank != node.rank and node.is_in(rank, version):
                return rank
        return None

    def sources_of(self, node, version):
        distance, sources, between = self.distance_at(version, node.workers), [], []
        for k in range(node.workers):
            source, before = (node.rank - distance - k) % node.workers, (node.rank - k) % node.workers
            if k > 0 and node.is_in(before, version):
                between.append(before)
            if source != node.rank and between in ([], [source]) and node.is_in(source, version):
                sources.append(source)
        return sources

    def receive_shares(self, node, version, early):
        sources = self.sources_of(node, version)
        if not node.members_change:
            return [(yield node.receive(Weights, sources[0]))] if sources else []
        found = [share for share in early if share.version <= version]
        came = {share.sender.rank for share in found if share.version == version}
        early[:] = [share for share in early if share.version > version]
        while True:
            if any(source not in came and node.awaits(source, version) for source in sources):
                which, share = yield first_of(node.receive(Weights), node.receive(MembershipNotice))
                if which == 1:
                    continue
            else:
                which, share = yield first_of(node.proceed(), node.receive(Weights))
                if which == 0:
                    return found
            if share.version > version:
                early.append(share)
            else:
                if share.version == version:
                    came.add(share.sender.rank)
                found.append(share)

    def estimate_of(self, node, total, weight, before):
        return node.blend(total, [total], [1 / weight]) if weight > 0 else node.blend(total, [before], [1])


@straggler.scheme("py_hierarchical", needs_server=True, parameters={"edge_rounds": 2, "groups": 2}, sends_gradients=False,
                  asynchronous=False, family="federated", aggregators=lambda given, workers: min(given["groups"], workers), invites=True,
                  on_failure=("drop", "wait", "abort"))
class Hierarchical:
    """Aggregators average their clients `edge_rounds` times, then the server averages the aggregators."""

    def worker(self, node):
        weights = node.initial_weights()
        group = node.group
        if node.present(node.rank).life not in (0, None) or node.rank not in node.first_clients(len(group), group):
            weights = yield node.receive(Weights, node.aggregator)
        while True:
            seen = 0
            while seen < node.pass_samples:
                batch = node.next_batch(min(node.batch_size, node.pass_samples - seen))
                seen += batch.size
                gradient = yield node.gradient(weights, batch)
                weights = yield node.step(weights, gradient)
            yield node.send(node.aggregator, weights)
            weights = yield node.receive(Weights, node.aggregator)
            node.reset_optimizer()

    def average(self, node, parts):
        samples = [sum(node.samples_of(made.worker) for made in part.contributions) for part in parts]
        return node.weighted_mean(parts, [each / sum(samples) for each in samples])

    def aggregator(self, node):
        weights = node.initial_weights()
        rounds = InvitedRounds(node, len(node.group), node.group)
        while True:
            start, means = weights, []
            for _ in range(self.edge_rounds):
                parts = yield from rounds.parts(weights)
                if not parts:
                    break
                means.append(self.average(node, parts))
                weights = node.next_round(means[-1], means[-1].local_samples * node.workers // len(node.group))
            yield node.send(node.server, node.contribution_of(start, weights, means))
            weights = yield node.receive(Weights, node.server)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            parts = [part for part in (yield node.gather(Weights, weights.version, node.aggregator_ranks)) if part.contributions]
            if parts:
                weights = yield node.publish(self.average(node, parts))
            for aggregator in node.aggregator_ranks:
                node.post(aggregator, weights)


@straggler.scheme("py_scaffold", needs_server=True, parameters={"clients": 2, "average": ["plain", "by_samples"]},
                  average=lambda given: given["average"], sends_gradients=False, asynchronous=False,
                  family="federated", on_failure=("drop", "wait", "abort"), invites=True, selection="chance", worker_vectors=3,
                  clients_keep_vectors=True, invited=lambda given, workers: min(given["clients"], workers))
class Scaffold:
    """Federated averaging with control variates: a vector that a client keeps, and one that travels with the weights."""

    def worker(self, node):
        weights = node.initial_weights()
        count = min(self.clients, node.workers)
        first = node.first_clients(count) if node.present(node.rank).life in (0, None) else []
        weights = node.with_participants(weights, count)
        if node.rank not in first:
            weights = yield node.receive(Weights, node.server)
        while True:
            weights = node.settle(weights)
            common = node.attached(weights, "control variate")
            local = node.without_attached(weights)
            node.reset_optimizer()
            total, steps, seen = node.no_gradient(local), 0, 0
            while seen < node.pass_samples:
                batch = node.next_batch(min(node.batch_size, node.pass_samples - seen))
                seen += batch.size
                gradient = yield node.gradient(local, batch)
                total = node.add(total, gradient)
                steps += 1
                local = yield node.step(local, node.corrected(gradient, [(common, 1), (node.kept, -1)]))
            mine = node.combination([(total, 1 / steps)])
            change = node.combination([(mine, 1), (node.kept, -1)])
            if node.members_change:
                node.keep_if_counted(mine, weights)
            else:
                node.kept = mine
            yield node.send(node.server, node.attach(local, "control variate", change))
            weights = yield node.receive(Weights, node.server)

    def count_of(self, node, rank):
        return 1 if self.average == "plain" else node.samples_of(rank)

    def all_count(self, node):
        return max(1, sum(self.count_of(node, rank) for rank in range(node.workers) if node.is_enrolled(rank)))

    def server(self, node):
        count = min(self.clients, node.workers)
        weights = node.with_participants(node.initial_weights(), count)
        rounds = InvitedRounds(node, count)
        enrolled = self.all_count(node)
        while True:
            parts = yield from rounds.parts(weights)
            before, enrolled, left = enrolled, self.all_count(node), rounds.take_left()
            counts = [self.count_of(node, part.contributions[0].worker) for part in parts]
            shares = [each / sum(counts) for each in counts]
            average = node.mean(parts) if self.average == "plain" else node.weighted_mean(parts, shares)
            change = node.combination([(node.attached(part, "control variate"), share) for part, share in zip(parts, shares)])
            common = node.combination([(node.attached(weights, "control variate"), before / enrolled), (change, sum(counts) / enrolled)]
                                      + [(vector, -self.count_of(node, rank) / enrolled) for rank, vector in left])
            weights = node.attach(node.without_attached(node.blend(average, weights, 0.0)), "control variate", common)
            weights = yield node.publish(weights)


class InvitedRounds:
    """Rounds of invited clients, as node.round makes them: who trains and in which life, who is awaited, what counted last, and the
    vectors of those that left. `among`: an aggregator's group."""

    def __init__(self, node, count, among=None):
        self.node, self.count, self.among = node, count, among
        self.lives, self.awaited, self.down, self.counted, self.left, self.draws = {}, set(), set(), {}, [], 0

    def note(self, ranks):
        for rank in ranks:
            self.lives[rank] = self.node.present(rank).life
        self.awaited, self.wanted = set(ranks), min(self.count, len(ranks))

    def lost(self):
        gone = [rank for rank, life in sorted(self.lives.items())
                if self.node.present(rank).life != life or not (self.node.clients_come_and_go or self.node.is_member(rank))]
        return gone if self.node.members_change else []

    def send(self, weights, ranks):
        for rank in ranks:
            self.node.broadcast(weights if self.among else self.node.with_counted(weights, self.counted.get(rank)), [rank])

    def may_invite(self, rank):
        return rank not in self.lives and self.node.awaits(rank)  # if the others wait for it, also while it is down

    def invite(self, weights):
        for rank in self.lost():
            del self.lives[rank]
        ranks = self.node.draw_clients(self.count, self.draws, self.may_invite, self.among)
        self.draws += 1
        self.note(ranks)
        self.send(weights, ranks)
        return bool(ranks)

    def forget_lost(self, weights):
        for rank in self.lost():
            if rank in self.awaited and self.node.awaits(rank) and not self.node.is_member(rank):
                self.down.add(rank)  # the others wait for it
            elif rank in self.down and self.node.is_member(rank):
                self.down.discard(rank)
                self.lives[rank] = self.node.present(rank).life
                self.send(weights, [rank])
            else:
                self.down.discard(rank)
                del self.lives[rank]
                self.awaited.discard(rank)

    def take_left(self):
        left, self.left = self.left, []
        return left

    def parts(self, weights):
        if self.draws == 0:
            self.note(self.node.first_clients(self.count, self.among))
            self.draws += 1
        else:
            self.invite(weights)
        parts = {}
        self.forget_lost(weights)
        while not parts or (len(parts) < self.wanted and self.awaited):
            if not self.awaited and not self.invite(weights):
                if self.among and not self.lives:
                    break  # no client of the group is in
                if self.node.clients_come_and_go:
                    self.node.await_comers()
            arrived = yield self.node.arrival(Weights)
            if arrived is None:
                self.forget_lost(weights)
                continue
            rank = arrived.sender.rank
            if arrived.leaves:
                vector = self.node.left_by(arrived, self.counted.pop(rank, None))
                if vector is not None:
                    self.left.append((rank, vector))
                continue
            self.lives.pop(rank, None)
            awaited = rank in self.awaited and (arrived.version, arrived.progress) == (weights.version, weights.progress)
            self.awaited.discard(rank)
            if awaited:
                self.counted[rank] = weights.version
                parts[rank] = arrived
            else:
                self.node.discard(arrived)
        return [parts[rank] for rank in sorted(parts)]


class BusyClients:
    """Who trains, each in the life in which it was invited; and who is invited next."""

    def __init__(self, node, count):
        self.node, self.count = node, min(count, node.workers)
        self.lives = {rank: node.present(rank).life for rank in node.first_clients(self.count)}
        self.invitations = 0
        self.await_comers()

    def await_comers(self):
        if self.node.clients_come_and_go and len(self.lives) < self.count:
            self.node.await_comers()

    def may_train(self, rank):
        return self.node.is_member(rank) and rank not in self.lives

    def forget_lost(self):
        for rank, life in list(self.lives.items()) if self.node.members_change else ():
            if self.node.present(rank).life != life or (not self.node.clients_come_and_go and not self.node.is_member(rank)):
                del self.lives[rank]

    def fill(self):
        self.forget_lost()
        invited = []
        while len(self.lives) < self.count:
            rank = self.idle()
            if rank is None:
                break
            client = self.node.present(rank)
            self.lives[rank] = client.life
            invited.append(client)
        self.await_comers()
        return invited

    def idle(self):
        self.invitations += 1
        for tries in range(64):
            drawn = self.node.sample_workers(1, self.invitations + (tries << 32))[0]
            if self.may_train(drawn):
                return drawn
        others = [rank for rank in range(self.node.workers) if self.may_train(rank)]
        return others[self.node.sample_workers(1, self.invitations + (64 << 32))[0] % len(others)] if others else None


@straggler.scheme("py_fedasync", needs_server=True, parameters={"alpha": 0.6, "clients": 2}, sends_gradients=False, family="federated",
                  on_failure=("drop", "abort"), invites=True, invited=lambda given, workers: min(given["clients"], workers),
                  workers_hold="own_version")
class FedAsync:
    """The server mixes in each client's weights as they come, and invites another client."""

    def worker(self, node):
        weights = node.with_participants(node.initial_weights(), min(self.clients, node.workers))
        if node.present(node.rank).life or node.rank not in node.first_clients(min(self.clients, node.workers)):
            weights = yield node.receive(Weights, node.server)
        while True:
            node.reset_optimizer()
            seen = 0
            while seen < node.pass_samples:
                batch = node.next_batch(min(node.batch_size, node.pass_samples - seen))
                seen += batch.size
                gradient = yield node.gradient(weights, batch)
                weights = yield node.step(weights, gradient)
            yield node.send(node.server, weights)
            weights = yield node.receive(Weights, node.server)

    def server(self, node):
        weights = node.with_participants(node.initial_weights(), min(self.clients, node.workers))
        clients = BusyClients(node, self.clients)
        while True:
            arrived = yield node.arrival_or_change(Weights)
            if arrived is not None:
                weights = node.weighted_mean([weights, arrived], [1 - self.alpha, self.alpha])
                weights = yield node.publish(weights)
                clients.lives.pop(arrived.sender.rank, None)
            for client in clients.fill():
                yield node.send(client, weights)
