// A moment after a delay, where both may be as long as a run.
#pragma once
#include "sim/engine/time.hpp"

namespace straggler {

/// now + delay, or a tick beyond the limit of time: two times of 100 days have a sum that 64 bits do not hold. Both are at most a tick
/// beyond the limit.
constexpr Time later(Time now, Time delay) { return delay > Time::limit() - now ? Time::limit() + Time::from_ticks(1) : now + delay; }

}  // namespace straggler
