"""Messages as fluid flows over directed links, at max-min fair rates."""
from events import Event

NEVER = float("inf")


class Link:
    def __init__(self, bandwidth):
        self.bandwidth, self.factors = bandwidth, []

    def capacity(self):
        now = self.bandwidth
        for factor in self.factors:
            now *= factor
        return now


class Flow(Event):
    """Happens when the last byte has left. Lasts while there are bytes."""

    def __init__(self, network, links, size):
        super().__init__()
        self.network, self.links, self.left, self.rate = network, links, float(size), 0.0

    def _begin(self):
        if self.left == 0:
            return self.happen()
        self.network.settle()
        self.network.flows.append(self)
        self.network.share()

    def _cancel(self):
        self.network.settle()
        if self in self.network.flows:
            self.network.flows.remove(self)
        self.network.share()


class Flows(Event):
    """Side by side: happens when the last one does."""

    def __init__(self, flows):
        super().__init__()
        self.flows, self.left = flows, len(flows)

    def _begin(self):
        for flow in self.flows:
            flow.then(self._one)

    def _one(self, _):
        self.left -= 1
        if self.left == 0:
            self.happen()

    def _cancel(self):
        for flow in self.flows:
            flow.cancel()


class Network:
    """`shared`: flows share links at max-min fair rates; otherwise each has the bandwidth of its narrowest link."""

    def __init__(self, clock, shared=True):
        self.clock, self.flows, self.since, self.planned, self.shared = clock, [], 0.0, None, shared

    def settle(self):
        """Bytes that have flowed since the last change."""
        for flow in self.flows:
            flow.left -= flow.rate * (self.clock.now - self.since)
        self.since = self.clock.now

    def share(self):
        """Progressive filling: the rates of all flows rise together; those on a link that is full stay."""
        self.clock.cancel(self.planned)
        for flow in self.flows:
            flow.rate = min(link.capacity() for link in flow.links)
        rising = set(self.flows if self.shared else [])
        links = {link for flow in rising for link in flow.links}
        room = {link: link.capacity() for link in links}
        while rising:
            users = {link: sum(link in flow.links for flow in rising) for link in links}
            least = min(room[link] / users[link] for link in links if users[link])
            full = [link for link in links if users[link] and room[link] / users[link] <= least * (1 + 1e-12)]
            for flow in [flow for flow in rising if any(link in flow.links for link in full)]:
                flow.rate = least
                rising.remove(flow)
                for link in flow.links:
                    room[link] = max(0.0, room[link] - least)
        first = min((max(0.0, flow.left) / flow.rate for flow in self.flows if flow.rate > 0), default=NEVER)
        self.planned = None
        if first < NEVER:
            self.planned = self.clock.not_before(first, self._drained)

    def _drained(self):
        self.settle()
        done = [flow for flow in self.flows if flow.left <= 1e-12 * (1 + flow.rate)]
        self.flows = [flow for flow in self.flows if flow not in done]
        self.share()
        for flow in done:
            flow.happen()

    def change(self, links, factor, begins):
        self.settle()
        for link in links:
            link.factors.append(factor) if begins else link.factors.remove(factor)
        self.share()
