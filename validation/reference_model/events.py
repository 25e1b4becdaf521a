"""Simulated time, and processes in it: generators that yield what they wait for.

Time is a whole number of picoseconds; spans are in seconds. What happens at the same time happens in the order in which it was planned.
"""
import heapq
import itertools
import math


TICKS = 1e12  # in a second


class Clock:
    """The queue of planned calls."""

    def __init__(self):
        self.ticks, self.queue, self.number, self.stopped = 0, [], itertools.count(), False

    @property
    def now(self):
        return self.ticks / TICKS

    def at(self, time, call):
        """Plans call(); returns what `cancel` takes."""
        return self._plan(round(time * TICKS), call)

    def after(self, seconds, call):
        return self._plan(self.ticks + round(seconds * TICKS), call)

    def not_before(self, seconds, call):
        """As `after`, but rounded up; a thousandth of a tick is forgiven."""
        return self._plan(self.ticks + math.ceil(seconds * TICKS - 1e-3), call)

    def _plan(self, tick, call):
        planned = [max(tick, self.ticks), next(self.number), call]
        heapq.heappush(self.queue, planned)
        return planned

    @staticmethod
    def cancel(planned):
        if planned:
            planned[2] = None

    def run(self):
        """Until `stop`, or until nothing is planned."""
        while self.queue and not self.stopped:
            tick, _, call = heapq.heappop(self.queue)
            if call is not None:
                self.ticks = tick
                call()

    def stop(self):
        self.stopped = True

    def pending(self):
        """How many calls are planned."""
        return sum(call is not None for _, _, call in self.queue)

    def give_up(self):
        """Nothing that is planned happens."""
        self.queue.clear()


class Event:
    """Something to wait for: it happens once, with a value. Subclasses begin it in `_begin`, and give it up in `_cancel`."""

    def __init__(self):
        self.begun, self.happened, self.given_up, self.value, self.waiting = False, False, False, None, []
        self.settled, self.when_settled = False, None  # it will happen, at a time that is known

    def begin(self):
        if not self.begun:
            self.begun = True
            self._begin()
        return self

    def happen(self, value=None):
        if self.happened or self.given_up:
            return
        self.happened, self.value = True, value
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call(self)

    def settle(self):
        self.settled = True
        if self.when_settled:
            self.when_settled(self)

    def cancel(self):
        if self.happened or self.given_up:
            return
        self.given_up = True
        if self.begun:
            self._cancel()

    def then(self, call):
        self.begin()
        if self.happened:
            call(self)
        else:
            self.waiting.append(call)

    def _begin(self):
        pass

    def _cancel(self):
        pass


class Timer(Event):
    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds, self.planned = clock, seconds, None

    def _begin(self):
        self.planned = self.clock.after(self.seconds, self.happen)

    def _cancel(self):
        self.clock.cancel(self.planned)


class First(Event):
    """Happens with (index, value) of the first of these to happen, or to settle. Others are cancelled, unless begun before."""

    def __init__(self, *events, last_begins=False):
        super().__init__()
        self.last_begins = last_begins  # and wins where several are there already
        self.events, self.keep = list(events), [event.begun for event in events]

    def _begin(self):
        for event in reversed(self.events) if self.last_begins else self.events:
            event.begin()
            if event.happened:
                return self._over(event)
            if event.settled:
                return self._wait_for(event)
        for event in self.events:
            event.waiting.append(self._over)
            event.when_settled = self._wait_for

    def _wait_for(self, event):
        self._leave(event)
        if self._over not in event.waiting:
            event.waiting.append(self._over)
        self.settle()

    def _over(self, event):
        if self.happened or self.given_up:
            return
        self._leave(event)
        self.happen((self.events.index(event), event.value))

    def _leave(self, winner):
        for event, keep in zip(self.events, self.keep):
            if event is winner:
                continue
            event.when_settled = None
            if self._over in event.waiting:
                event.waiting.remove(self._over)
            if not keep:
                event.cancel()

    def _cancel(self):
        self._leave(None)


class Process:
    """Runs a generator that yields events. `kill` gives up what it waits for, and what it has begun with `Process.own`."""

    def __init__(self, clock, generator, at_once=False):
        self.clock, self.generator, self.waits_for, self.dead, self.owned = clock, generator, None, False, []
        self.active = False
        if at_once:
            self._resume(None)
        else:
            clock.at(clock.now, lambda: self._resume(None))

    def own(self, event):
        """Begins an event that goes with the process."""
        self.owned = [each for each in self.owned if not each.happened and not each.given_up] + [event]
        return event.begin()

    def kill(self):
        self.dead = True
        for event in [self.waits_for, *self.owned]:
            if event is not None:
                event.cancel()
        self.waits_for = None

    def _resume(self, value):
        while not self.dead and not self.clock.stopped:
            try:
                event = self.generator.send(value)
            except StopIteration:
                self.dead = True
                return
            self.waits_for = event
            event.begin()
            if self.clock.stopped:
                return
            if not event.happened:
                event.waiting.append(lambda over: self._resume(over.value))
                return
            value = event.value
