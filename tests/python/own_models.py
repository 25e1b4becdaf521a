"""What check_models runs: a model in NumPy, and images of digits that are drawn here."""
import threading
import weakref

import numpy
import straggler


class Seen:
    """What was seen of calls: kept apart from the object, whose attributes are a part of its keys."""

    def __init__(self):
        self.threads, self.calls = set(), 0


seen = weakref.WeakKeyDictionary()


@straggler.model("numpy_softmax", version=1)
class Softmax:
    """Softmax regression."""

    def __init__(self, features=2, classes=4, start=None, scale=1):
        self.features, self.classes, self.start, self.scale = features, classes, start, numpy.float32(scale)
        seen[self] = Seen()

    @property
    def threads(self):
        return seen[self].threads

    @property
    def calls(self):
        return seen[self].calls

    @calls.setter
    def calls(self, calls):
        seen[self].calls = calls

    def initial(self, seed):
        if self.start is not None:
            return self.start
        draw = numpy.random.default_rng(seed)
        return {"weight": draw.normal(0, 0.1, (self.classes, self.features)).astype("f4"), "bias": numpy.zeros(self.classes, "f4")}

    def _scores(self, weights, inputs, labels):
        """Inputs in rows, probabilities, and the loss of each sample."""
        rows = inputs.reshape(len(inputs), -1).astype("f4") * self.scale
        scores = rows @ weights["weight"].T + weights["bias"]
        scores -= scores.max(1, keepdims=True)
        shares = numpy.exp(scores)
        shares /= shares.sum(1, keepdims=True)
        return rows, shares, -numpy.log(shares[numpy.arange(len(labels)), labels])

    def gradient(self, weights, inputs, labels):
        self.threads.add(threading.get_ident())
        self.calls += 1
        rows, shares, losses = self._scores(weights, inputs, labels)
        shares[numpy.arange(len(labels)), labels] -= 1
        shares /= numpy.float32(len(labels))
        return losses.mean(), {"weight": shares.T @ rows, "bias": shares.sum(0)}

    def evaluate(self, weights, inputs, labels):
        self.threads.add(threading.get_ident())
        _, shares, losses = self._scores(weights, inputs, labels)
        return losses.sum(), (shares.argmax(1) == labels).sum()


def digits(train=400, test=100):
    """Images [samples, 1, 8, 8] of ten random patterns with noise, from 0 to 1, and their numbers."""
    draw = numpy.random.default_rng(4)
    patterns = draw.random((10, 1, 8, 8))
    labels = draw.integers(0, 10, train + test)
    images = numpy.clip(patterns[labels] + draw.normal(0, 0.2, (train + test, 1, 8, 8)), 0, 1).astype("f4")
    return images[:train], labels[:train], images[train:], labels[train:]
