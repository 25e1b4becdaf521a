// Closed forms of failures, checkpoints and restarts of a whole job. All times are in seconds.
//
// λ: rate of the failures that stop the job. They come as a Poisson process, also while the job saves, detects a failure and restarts.
// Ts: time for which a checkpoint blocks. Tr: from a failure until work continues, detection included; a failure within it begins it anew.
// W: work, the time of the job without failures and checkpoints. τ: work between two checkpoints; after the last work nothing is saved.
#pragma once
#include <cstdint>
#include <vector>

namespace straggler::reliability {

struct JobFailures {
  double rate = 0;      // λ, per second; 0: none
  double recovery = 0;  // Tr
};

/// Mean time of a job without checkpoints: (1/λ) e^{λTr} (e^{λW} - 1). Infinite beyond what a double holds.
double expected_time(double work, const JobFailures& failures);

/// With a checkpoint after each τ of work but the last. The work between two checkpoints is done again until it and its checkpoint are
/// complete: n - 1 pieces of τ and a last one of r ≤ τ take (1/λ) e^{λTr} [(n - 1)(e^{λ(τ+Ts)} - 1) + (e^{λr} - 1)]
/// (Herault and Robert, Fault-Tolerance Techniques for High-Performance Computing, 2015, chapter 1; their downtime is without failures).
double expected_time(double work, double interval, double save, const JobFailures& failures);

/// The τ of the least mean time of a long job: (1 + W₀(-e^{-1-λTs})) / λ, W₀ the main branch of Lambert's function (ibid.). Requires: λ >
/// 0.
double optimal_interval(double rate, double save);

/// √(2 Ts/λ): Young, A first order approximation to the optimum checkpoint interval, CACM 17 (9), 1974. Requires: λ > 0.
double young_interval(double rate, double save);

/// √(2 Ts/λ) (1 + √(λTs/2)/3 + (λTs/2)/9) - Ts, and 1/λ where λTs ≥ 2: Daly, A higher order estimate of the optimum checkpoint interval for
/// restart dumps, FGCS 22 (3), 2006. Requires: λ > 0.
double daly_interval(double rate, double save);

/// Share of the time that is work which survives, over a long job: λτ e^{-λTr} / (e^{λ(τ+Ts)} - 1).
double long_run_goodput(double interval, double save, const JobFailures& failures);
/// Its first order in Ts/τ, λTr and λτ: 1 - Ts/τ - λ (Tr + τ/2). May be below 0, where failures are too many for it.
double first_order_goodput(double interval, double save, const JobFailures& failures);

/// Equal units, each of which is up for `up` and then down for `down` seconds, in the mean.
struct UnitFailures {
  std::int64_t units = 1;
  double up = 0, down = 0;
};
/// Failures of all units per second in the long run: Σ units / (up + down). Poisson processes merge into one (exponential `up`, no `down`);
/// others come close to one where units are many (Palm 1943, Khintchine 1960).
double merged_rate(const std::vector<UnitFailures>& all);
/// Share of the time for which a unit is up: up / (up + down).
double availability(double up, double down);

}  // namespace straggler::reliability
