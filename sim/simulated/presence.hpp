// Presence of workers that come and go by patterns (sim/cluster/availability.hpp). Arrivals and departures are not events: a worker's state
// is computed on demand.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/cluster/availability.hpp"
#include "sim/simulated/simulated_cluster.hpp"

namespace straggler {

class Presence {
 public:
  /// `cluster` outlives this. Without patterns everybody is present, and no state is kept.
  explicit Presence(const SimulatedCluster& cluster) : cluster_(cluster) {
    if (changes()) spells_.resize(cluster.presence.group_of.size());
  }
  bool changes() const { return !cluster_.presence.patterns.empty(); }
  /// `now` does not go back between calls for one worker.
  bool is_present(Rank worker, Time now) { return !changes() || at(worker, now).present; }
  /// When its present state ends; never(): it does not.
  Time until(Rank worker, Time now) { return at(worker, now).until; }
  /// When it was last absent from, by `now`; none: it has been present all the time.
  std::optional<Time> absent_from(Rank worker, Time now) const {
    std::optional<Time> from;
    Time begin;
    for (std::uint64_t k = 0; changes() && begin <= now && begin < Time::limit(); ++k) {
      const Spell spell = spell_of(worker, k, begin);
      if (!spell.present) from = begin;
      begin = spell.until;
    }
    return from;
  }
  /// How long it was absent up to `now`, which does not go back between calls for one worker.
  Time absent(Rank worker, Time now) {
    if (absences_.empty()) absences_.resize(spells_.size());
    Absence& own = absences_[index_of(worker)];
    while (own.until <= now) {
      if (!own.present) own.before += own.until - own.begin;
      const Spell spell = spell_of(worker, own.next++, own.until);
      own.begin = own.until;
      own.until = spell.until;
      own.present = spell.present;
    }
    return own.present ? own.before : own.before + (now - own.begin);
  }
  /// Share of the time up to `end` in which a worker was present: the mean over the workers. With many workers: over some thousands, evenly
  /// spaced.
  double mean_share(Time end) const {
    const std::size_t workers = spells_.size(), step = workers / most_looked_at + 1;
    double sum = 0;
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < workers; i += step, ++looked_at) sum += share(static_cast<Rank>(i), end);
    return sum / static_cast<double>(looked_at);
  }

 private:
  static constexpr std::size_t most_looked_at = 4096;
  double share(Rank worker, Time end) const {
    if (end == Time()) return spell_of(worker, 0, Time()).present ? 1 : 0;
    Time present, begin;
    for (std::uint64_t k = 0; begin < end; ++k) {
      const Spell spell = spell_of(worker, k, begin);
      const Time stop = std::min(spell.until, end);
      if (spell.present) present += stop - begin;
      begin = stop;
    }
    return present.seconds() / end.seconds();
  }
  struct Now {
    Time until;
    std::uint32_t next = 0;  // number of the next spell
    bool present = true;
  };
  /// The spell of the last question, and the sum over those before it.
  struct Absence {
    Time begin, until, before;
    std::uint32_t next = 0;
    bool present = true;
  };
  Now& at(Rank worker, Time now) {
    Now& spell = spells_[index_of(worker)];
    while (spell.until <= now) {
      const Spell next = spell_of(worker, spell.next++, spell.until);
      spell.until = next.until;
      spell.present = next.present;
    }
    return spell;
  }
  Spell spell_of(Rank worker, std::uint64_t k, Time begin) const {
    const std::size_t group = cluster_.presence.group_of[index_of(worker)];
    const Availability* const pattern = cluster_.presence.patterns[group];
    if (!pattern) return {Time::never(), true};
    const auto stream = RandomStream::stream_key(cluster_.seed, "worker/" + std::to_string(worker) + "/availability");
    return pattern->spell({static_cast<std::uint64_t>(worker - cluster_.presence.first_of_group[group]), stream}, k, begin);
  }

  const SimulatedCluster& cluster_;
  std::vector<Now> spells_;        // [workers]; empty: all workers are always present
  std::vector<Absence> absences_;  // [workers], once absent() was called
};

}  // namespace straggler
