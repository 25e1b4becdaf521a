"""What travels between nodes, and what it says of its making."""
SERVER, INFINITE = "server", float("inf")


def is_worker(rank):
    return isinstance(rank, int)


class Notice:
    """In the mailbox of the server, or of all members where there is none: who is a member has changed."""


class Message:
    def __init__(self, sender, life, to, to_life, content, size):
        self.sender, self.life, self.to, self.to_life, self.content, self.size = sender, life, to, to_life, content, size
        self.flow = self.planned = self.sent = self.form = None
        self.begun, self.is_state, self.waits = False, False, False
        self.coded = getattr(content, "coded", False)


class Weights:
    """Weights as they travel: which version they derive from, the samples counted in it, and the steps made since.

    `vectors`: as long as the weights, in a message with them."""
    vectors, travels_as = 1, "weights"

    def __init__(self, value, version=0, counted=0, made=(), participants=1):
        self.value, self.version, self.counted, self.made, self.participants = list(value), version, counted, list(made), participants
        self.attached = []  # vectors that travel with them

    def moved(self, value, *made):
        """With another value, and these contributions besides."""
        return Weights(value, self.version, self.counted, Made.joined(self.made + list(made)), self.participants)


class Made:
    """A worker's contribution to a version: the version that it began from, its first batch, steps, samples, and seconds of computing."""

    def __init__(self, worker, read_version, position, steps, samples, spent=0.0):
        self.worker, self.read_version, self.position, self.steps, self.samples = worker, read_version, position, steps, samples
        self.spent = spent

    def continued(self, by):
        return Made(self.worker, self.read_version, self.position, self.steps + by.steps, self.samples + by.samples, self.spent + by.spent)

    @staticmethod
    def joined(several):
        """Those of one worker are one contribution, which began with the first."""
        by_worker = {}
        for each in several:
            first = by_worker.get(each.worker)
            by_worker[each.worker] = each if first is None else first.continued(each)
        return list(by_worker.values())

    def row(self):
        return self.worker, self.read_version, self.position, self.steps, self.samples


class Gradient:
    """Of a batch, taken at weights of a version."""
    travels_as = "gradient"

    def __init__(self, value, version, made, at=None):
        self.value, self.version, self.made, self.at = value, version, list(made), at


class Batch:
    def __init__(self, size, position, factor):
        self.size, self.position, self.factor, self.spent = size, position, factor, 0.0
