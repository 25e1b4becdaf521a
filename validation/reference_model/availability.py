"""Clients that come and go. docs/model.md: Clients that come and go.

A client that goes while it takes part is lost to its round. One that waits to be invited comes and goes without events.
"""
NEVER = float("inf")


def draw_availability(draw, p, end):
    """Of each client the spans in which it is present, one of them with time for a round; and after what time they repeat (or None)."""
    clients = []
    for _ in range(p):
        spans, time = [], round(draw.choice([0, 0, 0, draw.uniform(0, 0.3 * end)]), 6)
        number = draw.randint(1, 5)
        long = draw.randrange(number)
        for k in range(number):
            to = round(time + draw.uniform(0.05, 0.6) * end + (k == long), 6)
            spans.append([time, to])
            time = round(to + draw.uniform(0.01, 0.3) * end, 6)
        clients.append(spans)
    return {"spans": clients, "repeat": round(max(spans[-1][1] for spans in clients) + 0.01, 6) if draw.random() < 0.7 else None}


class Attendance:
    def __init__(self, cluster, settings):
        self.cluster, self.spans, self.repeat = cluster, settings["spans"], settings["repeat"]
        self.going, self.comer, self.lost = {}, None, 0

    def edges(self, rank, now):
        """Beginnings and ends after `now`, in order: (time, whether it is present from then on)."""
        first = int(now // self.repeat) - 1 if self.repeat else 0
        for turn in range(max(first, 0), first + 4 if self.repeat else 1):
            for begin, end in self.spans[rank]:
                offset = turn * (self.repeat or 0)
                for time, is_in in ((offset + begin, True), (offset + end, False)):
                    if time > now + 1e-12:
                        yield time, is_in

    def is_present(self, rank):
        now = self.cluster.clock.now
        return next((not is_in for _, is_in in self.edges(rank, now)), False)

    def until(self, rank):
        return next((time for time, _ in self.edges(rank, self.cluster.clock.now)), NEVER)

    def share(self, end):
        """The mean share of the time up to `end` in which a client is present."""
        present = 0.0
        for rank in range(len(self.spans)):
            time, is_in = 0.0, not next((is_in for _, is_in in self.edges(rank, 0.0)), True)
            while time < end:
                until, turns = next(self.edges(rank, time), (NEVER, not is_in))
                present += is_in * (min(until, end) - time)
                time, is_in = until, turns
        return present / end / len(self.spans)

    def invited(self, rank):
        """It is sent something, or begins by itself: from now on its going is an event."""
        if rank in self.going:
            return
        until = self.until(rank)
        if until < NEVER:
            self.going[rank] = self.cluster.clock.at(until, lambda: self._goes(rank))

    def answered(self, rank):
        """The last byte of what it sent has left."""
        self.cluster.clock.cancel(self.going.pop(rank, None))

    def _goes(self, rank):
        worker = self.cluster.workers[rank]
        del self.going[rank]
        self.lost += 1
        until = self.until(rank)
        if until < NEVER:
            self.cluster.clock.at(until, lambda: self.cluster.come_back(worker))
        self.cluster.go_away(worker)

    def await_comers(self):
        """A notice when the next absent client comes."""
        clock = self.cluster.clock
        clock.cancel(self.comer)
        coming = min((self.until(worker.rank) for worker in self.cluster.workers if not self.cluster.is_member(worker.rank)), default=NEVER)
        self.comer = clock.at(coming, self.cluster.tell_of_members) if coming < NEVER else None
