"""Random draws: streams by name, and the clients of a round.

Philox4x32-10: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011. A stream's key is a hash of seed and name by the
finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
"""
BITS32, BITS64 = (1 << 32) - 1, (1 << 64) - 1


def philox(counter, key):
    """Ten rounds on four 32-bit words."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & BITS32, (a >> 32) ^ c3 ^ k1, a & BITS32
        k0, k1 = (k0 + 0x9E3779B9) & BITS32, (k1 + 0xBB67AE85) & BITS32
    return [c0, c1, c2, c3]


def mixed(x):
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & BITS64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & BITS64
    return x ^ x >> 31


def stream_key(seed, name):
    """Of the words seed, length and letters, eight a word, the lowest first."""
    letters = name.encode()
    words = [seed, len(letters)] + [int.from_bytes(letters[i:i + 8], "little") for i in range(0, len(letters), 8)]
    lane = 0x13198A2E03707344
    for word in words:
        lane = mixed((lane + word * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & BITS64)
    return mixed(lane)


class Stream:
    """Item `index` of a named stream."""

    def __init__(self, seed, name, index=0):
        self.key, self.index, self.block, self.words = stream_key(seed, name), index, 0, []

    def word(self):
        if not self.words:
            halves = lambda x: [x & BITS32, x >> 32]
            self.words = philox(halves(self.block) + halves(self.index), halves(self.key))
            self.block += 1
        return self.words.pop(0)

    def below(self, bound):
        """Uniform from 0 up to a bound. The topmost numbers, which would favour some, are drawn again."""
        while True:
            drawn = self.word() << 32
            drawn |= self.word()
            if drawn < BITS64 - BITS64 % bound:
                return drawn % bound


def shuffled(n, stream):
    """0 … n - 1 in random order (Fisher and Yates), one after another."""
    places = list(range(n))
    for i in range(n):
        j = i + stream.below(n - i)
        places[i], places[j] = places[j], places[i]
        yield places[i]


def by_samples(samples, count, stream, may):
    """`count` of those that may, one after another, each by its share of the samples of those that are left.

    Draws among all are repeated until they give a new one that may be drawn; after many tries the draw is among exactly those."""
    chosen, seen, tries = [], set(), 0
    everyone = [i for i, n in enumerate(samples) for _ in range(n)]
    while len(chosen) < count and tries < 20 * count + 1000:
        tries += 1
        drawn = everyone[stream.below(len(everyone))]
        if drawn not in seen and may(drawn):
            chosen.append(drawn)
        seen.add(drawn)
    left = [i for i in range(len(samples)) if i not in seen and may(i)]
    while len(chosen) < count and left:
        drawn = [i for i in left for _ in range(samples[i])]
        chosen.append(drawn[stream.below(len(drawn))])
        left.remove(chosen[-1])
    return chosen
