// How often to save: the interval of work between two checkpoints in which a run takes the least time, for failures at a constant rate.
#pragma once

namespace straggler {

/// τ = (1 + W₀(-e^(-1 - λ Ts))) / λ, which minimizes (e^(λ (τ + Ts)) - 1) / τ, the mean time of an interval by the work in it, over its
/// constant factors. `rate`: λ, failures a second, above 0; `save`: Ts, seconds for which saving stops work, above 0.
double optimal_interval(double rate, double save);
/// √(2 Ts / λ): Young 1974.
double youngs_interval(double rate, double save);
/// Daly 2006, of higher order: √(2 Ts M) [1 + ⅓ √(Ts / 2M) + Ts / 18 M] - Ts for Ts < 2 M, else M, with M = 1/λ.
double dalys_interval(double rate, double save);

}  // namespace straggler
