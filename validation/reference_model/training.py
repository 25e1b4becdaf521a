"""The numbers: a quadratic whose optimum is known, optimizers, schedules. Vectors are lists of floats.

docs/model_math.md: Learning (`quadratic`), Optimizer state, Learning rate.
"""
import math


def curvature(dimensions, condition):
    """From 1 down to 1 / condition, in equal ratios."""
    return [condition ** -(j / (dimensions - 1)) if dimensions > 1 else 1.0 for j in range(dimensions)]


def gradient(weights, point, curvature_):
    """Of the loss of one sample, or of equal samples at `point`."""
    return [a * (w - x) for a, w, x in zip(curvature_, weights, point)]


def loss(weights, points, curvature_):
    """Mean over the points, each with its number of samples: [(point, samples)]."""
    total = sum(samples for _, samples in points)
    return sum(samples * sum(a * (w - x) ** 2 / 2 for a, w, x in zip(curvature_, weights, point)) for point, samples in points) / total


def combination(*terms):
    """Σ factor · vector, of (factor, vector)."""
    return [sum(factor * vector[j] for factor, vector in terms) for j in range(len(terms[0][1]))]


def mean(vectors, shares=None):
    return combination(*((share, vector) for vector, share in zip(vectors, shares or [1 / len(vectors)] * len(vectors))))


def change(after, before):
    return combination((1, after), (-1, before))


def clipped(vector, norm):
    """Times what brings it to that norm, if it is longer; None: to any."""
    return vector if norm is None else combination((min(1.0, norm / (math.sqrt(sum(x * x for x in vector)) + 1e-6)), vector))


class Schedule:
    """Rate at a time in epochs. `shape`: a function of epochs; `warmup`: epochs of a rise from `start` to 1 (times the shape)."""

    def __init__(self, settings):
        self.settings = settings or {}

    def factor(self, epochs):
        kind, factor = self.settings.get("kind", "constant"), 1.0
        if kind == "step":
            factor = self.settings["factor"] ** math.floor(epochs / self.settings["every"] + 1e-12)
        elif kind in ("cosine", "polynomial"):
            rest = 1 - min(1.0, epochs / self.settings["epochs"])
            end = self.settings.get("end", 0.0)
            shape = (1 - math.cos(math.pi * rest)) / 2 if kind == "cosine" else rest ** self.settings.get("power", 1.0)
            factor = end + (1 - end) * shape
        elif kind == "warmup_stable_decay":
            decay, end = self.settings["decay"], self.settings["final"]
            begins = self.settings["epochs"] * (1 - decay["share"])
            x = min(1.0, max(0.0, (epochs - begins) / (self.settings["epochs"] - begins)))
            fallen = {"linear": x, "cosine": (1 - math.cos(math.pi * x)) / 2, "sqrt": math.sqrt(x)}[decay["shape"]]
            factor = 1 - (1 - end) * fallen
        return factor


class Optimizer:
    """State and step of one optimizer; settings as in a scenario. See docs/model_math.md for the formulas. `clip`: of each gradient."""

    def __init__(self, settings, schedule=None, clip=None):
        self.settings, self.schedule, self.clip = settings, Schedule(schedule), clip
        self.reset()

    def reset(self):
        """`ones`: of adam the moments of a gradient that is always 1, which correct the bias."""
        self.velocity, self.moment, self.squares, self.count, self.ones = None, None, None, 0, (0.0, 0.0)

    def copy(self):
        other = Optimizer(self.settings, clip=self.clip)
        other.schedule, other.count, other.ones = self.schedule, self.count, self.ones
        other.velocity, other.moment, other.squares = (list(v) if v else v for v in (self.velocity, self.moment, self.squares))
        return other

    def state(self):
        """The vectors of its state that are there, each with a number at its end that is averaged like the vector."""
        numbered = [(self.velocity, 0), (self.moment, self.ones[0]), (self.squares, self.ones[1] or self.count)]
        return [list(vector) + [number] for vector, number in numbered if vector]

    def adopt(self, state):
        """Goes on from such vectors; from nothing if there are none."""
        self.reset()
        vectors, numbers = [vector[:-1] for vector in state], [vector[-1] for vector in state]
        if len(state) == 2:
            (self.moment, self.squares), self.ones = vectors, tuple(numbers)
        elif state and self.settings["kind"] == "adagrad":
            self.squares, self.count = vectors[0], numbers[0]
        elif state:
            self.velocity = vectors[0]

    def rate(self, epochs):
        return self.settings["learning_rate"] * self.schedule.factor(epochs)

    def step(self, weights, gradient_, epochs=0.0):
        """The new weights. `epochs`: progress of the run, for the schedule."""
        kind, rate, decay = self.settings["kind"], self.rate(epochs), self.settings.get("weight_decay", 0.0)
        gradient_ = clipped(gradient_, self.clip)
        if kind not in ("adamw", "lion") and decay:
            gradient_ = combination((1, gradient_), (decay, weights))
        if kind == "sgd":
            momentum = self.settings.get("momentum", 0.0)
            if momentum:
                self.velocity = combination((momentum, self.velocity), (1, gradient_)) if self.velocity else list(gradient_)
                gradient_ = combination((1, gradient_), (momentum, self.velocity)) if self.settings.get("nesterov") else self.velocity
            return combination((1, weights), (-rate, gradient_))
        zero = [0.0] * len(weights)
        if kind == "lion":
            beta1, beta2, before = self.settings.get("beta1", 0.9), self.settings.get("beta2", 0.99), self.velocity or zero
            along = combination((beta1, before), (1 - beta1, gradient_))
            self.velocity = combination((beta2, before), (1 - beta2, gradient_))
            return [w - rate * (math.copysign(d != 0, d) + decay * w) for w, d in zip(weights, along)]
        if kind == "adagrad":
            self.count += 1
            squares = self.squares or [self.settings.get("initial", 0.0)] * len(weights)
            self.squares = [s + g * g for s, g in zip(squares, gradient_)]
            rate /= 1 + (self.count - 1) * self.settings.get("rate_decay", 0.0)
            epsilon = self.settings.get("epsilon", 1e-10)
            return [w - rate * g / (math.sqrt(s) + epsilon) for w, g, s in zip(weights, gradient_, self.squares)]
        if kind in ("adam", "adamw"):
            beta1, beta2 = self.settings.get("beta1", 0.9), self.settings.get("beta2", 0.999)
            epsilon = self.settings.get("epsilon", 1e-8)
            if kind == "adamw":
                weights = [w * (1 - rate * self.settings.get("weight_decay", 0.01)) for w in weights]
            self.ones = tuple(beta * one + 1 - beta for beta, one in zip((beta1, beta2), self.ones))
            self.moment = combination((beta1, self.moment or zero), (1 - beta1, gradient_))
            self.squares = [beta2 * s + (1 - beta2) * g * g for s, g in zip(self.squares or zero, gradient_)]
            first, second = self.ones
            return [w - rate * m / first / (math.sqrt(s / second) + epsilon) for w, m, s in zip(weights, self.moment, self.squares)]
        raise ValueError(kind)
