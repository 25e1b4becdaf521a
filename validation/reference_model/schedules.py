"""All-reduces as rounds of messages (from, to, bytes, whether the receiver adds them to its own). docs/model.md: All-reduce.

Ring: Patarasuk & Yuan 2009. The others: Thakur, Rabenseifner & Gropp 2005.
"""


def edges(size, count):
    """Where chunks begin, in whole bytes: chunk c covers [size c / count, size (c + 1) / count), rounded down."""
    return [size * c // count for c in range(count + 1)]


def ring(size, p):
    """First sums travel, then results."""
    cut = edges(size, p)
    chunk = lambda c: cut[c % p + 1] - cut[c % p]
    sums = [[(i, (i + 1) % p, chunk(i - step), True) for i in range(p)] for step in range(p - 1)]
    return sums + [[(i, (i + 1) % p, chunk(i + 1 - step), False) for i in range(p)] for step in range(p - 1)]


class Folded:
    """A power of two of positions; of the last ranks, each second one hands its data to the one before it."""

    def __init__(self, p):
        self.levels = p.bit_length() - 1
        self.core = 1 << self.levels
        single = 2 * self.core - p
        self.ranks = [*range(single), *range(single, p, 2)]
        self.extras = range(single + 1, p, 2)

    def around(self, size, rounds):
        before = [(rank, rank - 1, size, True) for rank in self.extras]
        after = [(rank - 1, rank, size, False) for rank in self.extras]
        return ([before] if before else []) + rounds + ([after] if after else [])


def recursive_doubling(size, p):
    """All is exchanged with the one 1, 2, 4, … positions away."""
    fold = Folded(p)
    return fold.around(size, [[(fold.ranks[i], fold.ranks[i ^ 1 << level], size, True) for i in range(fold.core)]
                              for level in range(fold.levels)])


def halving_doubling(size, p):
    """Half of what is left is exchanged with the one 1, 2, 4, … positions away; then results the other way round."""
    fold = Folded(p)
    cut = edges(size, fold.core)

    def kept(position, level):
        """Bytes of its range after that level; bit i of a position says which half it keeps at level i."""
        first = sum(fold.core >> (i + 1) for i in range(level + 1) if position >> i & 1)
        return cut[first + (fold.core >> (level + 1))] - cut[first]

    halving = [[(fold.ranks[i], fold.ranks[i ^ 1 << level], kept(i ^ 1 << level, level), True) for i in range(fold.core)]
               for level in range(fold.levels)]
    doubling = [[(fold.ranks[i], fold.ranks[i ^ 1 << level], kept(i, level), False) for i in range(fold.core)]
                for level in reversed(range(fold.levels))]
    return fold.around(size, halving + doubling)


def binomial_tree(size, p):
    """To position 0, and back from it."""
    fold = Folded(p)
    down = [[(fold.ranks[i + (1 << level)], fold.ranks[i], size, True) for i in range(0, fold.core, 2 << level)]
            for level in range(fold.levels)]
    up = [[(to, sender, size, False) for sender, to, _, _ in messages] for messages in reversed(down)]
    return fold.around(size, down + up)


def all_gather(size, p):
    """Each rank's bytes go around a ring."""
    return [[(i, (i + 1) % p, size, False) for i in range(p)] for _ in range(p - 1)]


def schedule_of(cluster, size, p):
    return (all_gather if cluster.compression else SCHEDULES[cluster.case["collective"]["algorithm"]])(size, p)


SCHEDULES = {each.__name__: each for each in (ring, recursive_doubling, halving_doubling, binomial_tree)}
