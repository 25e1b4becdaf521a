"""Rounds of a server that end before all have come: a quorum, a window after it, deadlines. docs/model.md: Quorums and windows."""
from events import First
from payloads import Gradient


class Gathering:
    """Messages of distinct workers; with a version only what was made from it counts. late(message), a generator, deals with the others."""

    def __init__(self, me, version, late, arrived=lambda message: None):
        self.me, self.version, self.late, self.arrived, self.has = me, version, late, arrived, {}

    def missing(self):
        """Whether another worker may come."""
        return any(self.me.cluster.awaits(rank) for rank in range(self.me.p) if rank not in self.has)

    def first(self, count, timer=None):
        """Until so many have come, or no other can, but one at least; or until the timer."""
        while len(self.has) < count and (not self.has or self.missing()):
            if timer:
                index, value = yield First(self.me.arrival(Gradient), timer)
                if index == 1:
                    return
                index, message = value
            else:
                index, message = yield self.me.arrival(Gradient)
            if index == 1:
                continue
            self.arrived(message)
            if self.version is not None and message.content.version != self.version:
                yield from self.late(message)
            elif message.sender in self.has:  # of another life, which is answered
                self.me.cluster.drop(message.content.made)
                self.has[message.sender].life = message.life
            else:
                self.has[message.sender] = message

    def within(self, seconds):
        """And those that come in that time."""
        if seconds:
            timer = self.me.process.own(self.me.timer(seconds))
            yield from self.first(self.me.p, timer)
            timer.cancel()

    def parts(self):
        return [self.has[rank] for rank in sorted(self.has)]


def median(values):
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class Deadline:
    """Of rounds: a time, or the median and k times the median distance from it of the last 4 n arrivals, if there are n."""

    def __init__(self, me, settings, n):
        self.me, self.settings, self.n, self.spans, self.invitations = me, settings or {}, n, [], {}

    def invited(self, rank, life):
        self.invitations[rank] = (life, self.me.clock.now)

    def arrived(self, message):
        life, since = self.invitations.pop(message.sender, (None, 0))
        if life == message.life:
            self.spans = (self.spans + [self.me.clock.now - since])[-4 * self.n:]

    def adapts(self):
        return "adaptive" in self.settings

    def seconds(self):
        """None: there is none, or none yet."""
        if "time" in self.settings:
            return float(self.settings["time"][:-2]) / 1000
        if not self.adapts() or len(self.spans) < self.n:
            return None
        middle = median(self.spans)
        spread = median([abs(span - middle) for span in self.spans])
        return middle + self.settings["adaptive"] * max(spread, 0.05 * middle)
