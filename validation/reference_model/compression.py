"""What messages leave out. docs/model_math.md: Compression.

Compressors that draw random numbers are not here (random_k, qsgd, terngrad): their streams are the program's own. Nor is powersgd, which
sends a model of one vector whole.
Gradients of workers are compressed as they are, weights as differences from weights that sender and receiver both hold.
"""
import copy
import math
import struct

from training import combination

TOO_CLOSE = 3e-6  # to a number at which the result jumps: rounding in the program decides there


def draw_compression(draw, what):
    """Of what a scheme sends: "gradients" or "weights", of whose change a sign alone says too little."""
    chosen = {"kind": draw.choice(["top_k", "fp16", "bf16", "int8", "signsgd"]), "error_feedback": draw.random() < 0.5,
              "direction": draw.choice(["up", "both"])}
    if chosen["kind"] == "signsgd" and what == "weights":
        chosen["error_feedback"] = True
    if chosen["kind"] == "top_k":
        chosen["fraction"] = draw.choice([0.01, 0.4, 0.7, 1.0])
    return chosen


def draw_zeros(draw, case):
    """In one coordinate all workers, or some, have the start for their point: a gradient there is exactly zero, always or at first."""
    case["start"], which = 0, draw.randrange(3)
    for worker in case["workers"] if draw.random() < 0.5 else draw.sample(case["workers"], draw.randint(1, len(case["workers"]))):
        worker["point"][which] = 0.0


def gathered(case):
    """Changes a case of an all-reduce: only what an all-gather takes around a ring is here."""
    if case["compression"]:
        case["compression"]["direction"] = "up"
        case["collective"]["algorithm"] = "ring"
        if case["compression"]["kind"] in ("fp16", "bf16"):
            case["compression"]["kind"] = "int8"


def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def brain(x):
    bits, = struct.unpack("<I", struct.pack("<f", x))
    kept = bits >> 16
    kept += (bits & 0xffff) > 0x8000 or ((bits & 0xffff) == 0x8000 and kept & 1)
    return struct.unpack("<f", struct.pack("<I", kept << 16))[0]


class Compressor:
    """`of(vector, feedback)`: what is sent of it. `close`: a value was so near to a jump that the program's may be another."""

    def __init__(self, settings):
        self.settings, self.kind, self.close = settings, settings["kind"], False
        self.always_zero = set()  # coordinates; of others a zero may be one of rounding

    def bytes(self, d, feedback):
        return {"top_k": 8 * self.kept(d), "fp16": 2 * d, "bf16": 2 * d, "int8": d + 4,
                "signsgd": math.ceil(d / 8) + (4 if feedback else 0)}[self.kind]

    def kept(self, d):
        return max(1, round(self.settings.get("fraction", 0.01) * d))

    def of(self, v, feedback):
        return getattr(self, self.kind)(v, feedback)

    def top_k(self, v, _):
        order = sorted(range(len(v)), key=lambda i: -abs(v[i]))
        last, kept = self.kept(len(v)), set(order[:self.kept(len(v))])
        if last < len(v):
            self.near(abs(v[order[last - 1]]) - abs(v[order[last]]))
        return [x if i in kept else 0.0 for i, x in enumerate(v)]

    def fp16(self, v, _):
        return [self.rounded(x, half, 11, -24) for x in v]

    def bf16(self, v, _):
        return [self.rounded(x, brain, 8, -133) for x in v]

    def rounded(self, x, to_format, digits, least):
        """The jump is in the middle between two numbers of the format."""
        step = 2.0 ** max(math.frexp(x)[1] - digits, least)
        self.near(step / 2 - abs(x - to_format(x)))
        return to_format(x)

    def int8(self, v, _):
        unit = max(abs(x) for x in v) / 127
        if unit == 0:
            return list(v)
        for x in v:
            self.near((0.5 - abs(x / unit - round(x / unit))) * unit)
        return [round(x / unit) * unit for x in v]

    def signsgd(self, v, feedback):
        scale = sum(abs(x) for x in v) / len(v) if feedback else 1.0
        for j, x in enumerate(v):
            if x or j not in self.always_zero:
                self.near(abs(x))
        return [math.copysign(scale, x) if x else 0.0 for x in v]

    def near(self, distance):
        self.close = self.close or distance < TOO_CLOSE


class Sender:
    """What one life of a worker keeps: what its messages left out, and the last weights that came from the server."""

    def __init__(self, compressor, base):
        self.compressor, self.base, self.residuals = compressor, base, {}

    def sent(self, v, what):
        """Of a gradient, or of a change of weights: what is left out of one is not added to the other."""
        feedback = self.compressor.settings["error_feedback"]
        if self.residuals.get(what):
            v = combination((1, v), (1, self.residuals[what]))
        q = self.compressor.of(v, feedback)
        if feedback:
            self.residuals[what] = combination((1, v), (-1, q))
        return q, self.compressor.bytes(len(v), feedback)


class Compression:
    """Changes messages on their way."""

    def __init__(self, cluster):
        self.cluster, self.compressor = cluster, Compressor(cluster.case["compression"])
        self.both = cluster.case["compression"]["direction"] == "both"
        points = [worker["point"] for worker in cluster.case["workers"]]
        self.compressor.always_zero = {j for j, start in enumerate(cluster.initial) if all(point[j] == start for point in points)}
        self.senders, self.held = {}, {}  # of each life: what it keeps, and the weights that it holds for all that the server knows

    def sender(self, node):
        if (node.rank, node.life) not in self.senders:
            self.senders[node.rank, node.life] = Sender(self.compressor, node.first_weights.value)
        return self.senders[node.rank, node.life]

    def outgoing(self, node, message):
        before, what = message.content, getattr(message.content, "travels_as", None)
        self.compress(node, message, what)
        message.coded |= message.content is not before

    def compress(self, node, message, what):
        beside = message.size - 4 * len(self.cluster.initial)  # vectors that are not compressed
        if beside < 0:
            return  # a contribution without a vector
        if what == "gradient":
            q, message.size = self.sender(node).sent(message.content.value, what)
            message.size += beside
            message.content = self.with_value(message.content, q)
        elif what == "weights" and message.to == "server":
            sender = self.sender(node)
            q, message.size = sender.sent(combination((1, message.content.value), (-1, sender.base)), what)
            message.size += beside
            message.content = self.with_value(message.content, combination((1, sender.base), (1, q)))
        elif what == "weights" and self.both:
            self.answer(message)  # of a server, or of a worker in its place

    def brought(self, node, part, size):
        """A worker's part in a collective, and its bytes. Each rank gets what all bring, in an all-gather."""
        sender, beside = self.sender(node), size - 4 * len(part.value)
        base = sender.base if part.travels_as == "weights" else [0.0] * len(part.value)
        q, size = sender.sent(combination((1, part.value), (-1, base)), part.travels_as)
        return self.with_value(part, combination((1, base), (1, q))), size + beside

    def answer(self, message):
        """The next difference has in it what this one leaves out. Who began with the run holds the initial weights, others nothing yet."""
        worker, value = self.cluster.workers[message.to], message.content.value
        life = worker.rank, worker.life if message.to_life is None else message.to_life
        held = self.held.get(life, self.cluster.initial if life[1] == 0 else None)
        if held is None:
            message.form, self.held[life] = "whole", value
            return
        q = self.compressor.of(combination((1, value), (-1, held)), True)
        message.form, self.held[life] = "difference", combination((1, held), (1, q))
        message.size += self.compressor.bytes(len(q), True) - 4 * len(q)
        message.content = self.with_value(message.content, self.held[life])

    @staticmethod
    def with_value(content, value):
        changed = copy.copy(content)
        changed.value = value
        return changed

    def taken(self, node, message):
        if message.sender == "server" and getattr(message.content, "travels_as", None) == "weights":
            self.sender(node).base = message.content.value
