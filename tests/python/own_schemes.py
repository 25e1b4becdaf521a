"""Schemes that are C++ files, written again in Python: operation by operation, so that all results must be the same bytes."""
import straggler
from straggler import Gradient, MembershipNotice, Signal, Token, Weights, first_of, first_of_in_flight


class PushAndFetch:
    """A worker of asgd, ssp and the like."""

    def worker(self, node):
        weights = node.initial_weights()
        while True:
            gradient = yield node.gradient(weights, node.next_batch(node.batch_size))
            yield node.send(node.server, gradient)
            weights = yield node.receive(Weights, node.server)


@straggler.scheme("py_asgd", needs_server=True, sends_gradients=True, on_failure=("drop", "abort"), updates_per_epoch="batches")
class Asgd(PushAndFetch):
    def server(self, node):
        weights = node.initial_weights()
        while True:
            gradient = yield node.receive(Gradient)
            weights = yield node.step(weights, gradient)
            weights = yield node.publish(weights)
            yield node.send(gradient.sender, weights)


class Clocks:
    """Of the workers that are waited for."""

    def __init__(self, node, slack):
        self.node, self.slack = node, slack
        self.now, self.last = {}, [0] * node.workers
        self.members_changed()

    def members_changed(self):
        for worker in range(self.node.workers):
            if worker in self.now and not self.node.awaits(worker):
                del self.now[worker]
            if worker in self.now or not self.node.awaits(worker):
                continue
            least = min(self.now.values()) if self.now else self.last[worker]
            self.now[worker] = self.last[worker] = min(max(self.last[worker], least), least + self.slack)

    def tick(self, worker):
        if worker in self.now:
            self.now[worker] += 1
            self.last[worker] = self.now[worker]

    def may_go_on(self, worker):
        return worker not in self.now or self.now[worker] - min(self.now.values()) <= self.slack


@straggler.scheme("py_ssp", needs_server=True, parameters={"slack": straggler.Parameter("count", required=True, example=2, low=0)},
                  sends_gradients=True, on_failure=("drop", "wait", "abort"), updates_per_epoch="batches")
class Ssp(PushAndFetch):
    def server(self, node):
        weights = node.initial_weights()
        clocks, waiting = Clocks(node, self.slack), []
        while True:
            gradient = yield node.arrival_or_change(Gradient)
            if gradient is None:
                clocks.members_changed()
            else:
                weights = yield node.step(weights, node.scaled(gradient, 1.0 / node.workers))
                weights = yield node.publish(weights)
                clocks.tick(gradient.sender.rank)
                waiting.append(gradient.sender)
            i = 0
            while i < len(waiting):
                if clocks.may_go_on(waiting[i].rank):
                    yield node.send(waiting.pop(i), weights)
                else:
                    i += 1


def clients_of(parameters, workers):
    return min(parameters["clients"], workers)


@straggler.scheme("py_fedavg", needs_server=True,
                  parameters={"clients": 3, "local_epochs": 1, "over_select": 1.0,
                              "deadline.time": straggler.Parameter("time"), "deadline.late": ["drop", "partial"]},
                  asynchronous=False, sends_gradients=False, family="federated", invites=True, on_failure=("drop", "wait", "abort"),
                  invited=lambda given, workers: min(workers, int(clients_of(given, workers) * given["over_select"] + 0.5)))
class FedAvg:
    def worker(self, node):
        while True:
            weights = yield node.invitation(self.clients)
            node.reset_optimizer()
            weights = yield node.train_locally(weights)
            yield node.send(node.server, weights)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            parts = yield node.round(weights, self.clients)
            if parts:
                samples = [node.samples_of(part.contributions[0].worker) for part in parts]
                weights = node.weighted_mean(parts, [each / sum(samples) for each in samples])
            weights = yield node.publish(weights)


@straggler.scheme("py_dpsgd", exchange="peers", asynchronous=False, versions="lockstep", sends_gradients=False, family="gossip",
                  on_failure=("drop", "wait", "abort"), updates_per_epoch="rounds")
class Dpsgd:
    def worker(self, node):
        n = node.workers
        row = sorted({(node.rank - 1) % n, node.rank, (node.rank + 1) % n})
        mine = node.initial_weights()
        while True:
            for neighbour in row:
                if neighbour != node.rank and node.takes_part(neighbour, mine.version):
                    node.post(neighbour, mine)
            gradient = yield node.gradient(mine, node.next_batch(node.batch_size))
            found = {node.rank: mine}
            for neighbour in row:
                if neighbour != node.rank:
                    found[neighbour] = yield node.receive_version(neighbour, mine.version)
            parts, shares, kept = [], [], 0.0
            for neighbour in row:
                if neighbour != node.rank and (found[neighbour] is None or not node.takes_part(neighbour, mine.version)):
                    kept += 1 / len(row)
                    continue
                if neighbour == node.rank:
                    own = len(parts)
                parts.append(found[neighbour])
                shares.append(1 / len(row))
            shares[own] += kept
            mine = yield node.step(node.blend(mine, parts, shares), gradient)
            mine = yield node.publish(mine)


@straggler.scheme("py_nonblocking", needs_server=True, parameters={"minibatch": 10}, asynchronous=False, sends_gradients=False,
                  family="local", on_failure=("drop", "wait", "abort"))
class Nonblocking:
    def worker(self, node):
        weights = node.initial_weights()
        left, begins = node.batch_size, True

        def draw():
            nonlocal begins
            samples = min(self.minibatch, left)
            batch = node.next_batch(samples) if begins else node.more_of_batch(samples)
            begins = False
            return batch
        minibatch = draw()
        while True:
            number = weights.version
            while left > 0:
                which, outcome = yield first_of(node.gradient(weights, minibatch), node.signal(number))
                if which == 1:
                    break
                weights = yield node.step(weights, outcome)
                left -= minibatch.size
                if left > 0:
                    minibatch = draw()
            if left == 0:
                node.broadcast(Signal(number))
                left, begins = node.batch_size, True
                minibatch = draw()
            yield node.send(node.server, weights)
            weights = yield node.receive(Weights, node.server)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            parts = yield node.gather(Weights, weights.version)
            weights = yield node.publish(node.mean(parts))
            node.broadcast(weights)


@straggler.scheme("py_local_sgd", exchange="all_reduce", parameters={"steps": 3}, asynchronous=False, sends_gradients=False, family="local",
                  on_failure=("wait", "drop", "abort"))
class LocalSgd:
    def worker(self, node):
        weights = node.initial_weights()
        while True:
            for _ in range(self.steps):
                gradient = yield node.gradient(weights, node.next_batch(node.batch_size))
                weights = yield node.step(weights, gradient)
            average = yield node.all_reduce_mean(node.attach_optimizer(weights))
            node.adopt_optimizer(average)
            weights = yield node.publish(node.without_attached(average))


@straggler.scheme("py_downpour", needs_server=True, parameters={"push_every": 2, "fetch_every": 3}, sends_gradients=True,
                  answers_hold_own=False, on_failure=("drop", "abort"))
class Downpour:
    def worker(self, node):
        weights = node.initial_weights()
        total, push, step = node.no_gradient(weights), None, 0
        while True:
            step += 1
            gradient = yield node.gradient(weights, node.next_batch(node.batch_size))
            total = node.add(total, gradient)
            if step % self.push_every == 0:
                if push:
                    yield push
                push = node.begin(node.send(node.server, total))
                total = node.no_gradient(weights)
            if self.fetch_every > 1:
                weights = yield node.step(weights, gradient)
            if step % self.fetch_every:
                continue
            if push:
                yield push
                push = None
            node.post(node.server, Token())
            weights = yield node.receive(Weights, node.server)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            which, arrived = yield first_of(node.receive(Token), node.receive(Gradient))
            if which == 1:
                weights = yield node.step(weights, arrived)
                weights = yield node.publish(weights)
            else:
                yield node.send(arrived.sender, weights)


@straggler.scheme("py_k_sync", needs_server=True, parameters={"k": 3}, asynchronous=False, sends_gradients=True, family="synchronous",
                  on_failure=("drop", "wait", "abort"))
class KSync:
    def worker(self, node):
        weights = node.initial_weights()
        while True:
            which, outcome = yield first_of(node.gradient(weights, node.next_batch(node.batch_size)), node.receive(Weights, node.server))
            if which == 1:
                weights = outcome
                continue
            yield node.send(node.server, outcome)
            weights = yield node.receive(Weights, node.server)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            first = yield node.gather_first(Gradient, self.k, weights.version, node.discard)
            weights = yield node.step(weights, node.mean(first))
            weights = yield node.publish(weights)
            node.broadcast(weights)


@straggler.scheme("py_adpsgd", exchange="peers", versions="free_running", sends_gradients=False, family="gossip",
                  on_failure=("drop", "abort"),
                  unfit=lambda parameters, workers: "needs an even number of workers; take one more" if workers % 2 else None)
class Adpsgd:
    def average(self, node, own, active, passive):
        return node.blend(own, [active, passive], [0.5, 0.5])

    def worker(self, node):
        n = node.workers
        neighbours = sorted({(node.rank - 1) % n, (node.rank + 1) % n})
        mine = node.initial_weights()
        while True:
            computing = node.begin(node.gradient(mine, node.next_batch(node.batch_size)))
            gradient = None
            while node.rank % 2:
                which, theirs = yield first_of_in_flight(computing, node.receive(Weights))
                if which == 0:
                    gradient = theirs
                    break
                if not node.is_member(theirs.sender.rank):
                    continue
                node.post(theirs.sender, mine)
                mine = self.average(node, mine, theirs, mine)
                node.averaged_with(theirs, mine)
            if gradient is None:
                gradient = yield computing
                mine = yield from self.ask(node, [each for each in neighbours if node.is_member(each)], mine)
            mine = yield node.step(mine, gradient)
            mine = yield node.publish(mine)

    def ask(self, node, neighbours, mine):
        if not neighbours:
            return mine
        partner = neighbours[node.random(f"worker/{node.rank}/partner", mine.version).below(len(neighbours))]
        node.post(partner, mine)
        theirs = None
        while theirs is None and node.is_member(partner):
            if not node.members_change:
                theirs = yield node.receive(Weights, partner)
                continue
            which, arrived = yield first_of(node.receive(Weights, partner), node.receive(MembershipNotice))
            if which == 0:
                theirs = arrived
        if theirs is None:
            return mine
        mixed = self.average(node, mine, mine, theirs)
        node.averaged_at(partner, mine, mixed)
        return mixed


@straggler.scheme("py_diloco", exchange="all_reduce", parameters={"steps": 4}, asynchronous=False, sends_gradients=False, family="local",
                  outer_optimizer={"kind": "sgd", "learning_rate": 0.7, "momentum": 0.9, "nesterov": True})
class Diloco:
    """One fragment, without delay, and without faults."""

    def worker(self, node):
        shared = node.initial_weights()
        local, outer = shared, node.outer_optimizer()
        while True:
            for _ in range(self.steps):
                gradient = yield node.gradient(local, node.next_batch(node.batch_size))
                local = yield node.step(local, gradient)
            change = node.begin(node.all_reduce_mean(node.difference(shared, local)))
            local = node.without_contributions(local)
            mean = yield change
            shared = yield node.step(shared, mean, outer)
            shared = yield node.publish(node.with_statistics(shared, mean))
            local = node.blend(local, shared, 1.0)
