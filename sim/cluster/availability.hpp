// When a worker is present: a client's phone is idle, charging and on an unmetered network at some times, and not at others.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

/// A worker of a group that shares a pattern.
struct Attendant {
  std::uint64_t number = 0;  // within the group
  std::uint64_t stream = 0;  // RandomStream::stream_key of the worker
};

/// A span of time in which a worker is either present or absent throughout.
struct Spell {
  Time until;  // first tick after it; never(): it has no end
  bool present = true;
};

/// The pattern of a group's workers. Immutable.
class Availability {
 public:
  virtual ~Availability() = default;
  /// Spell k of that worker, which begins at `begin`, the end of the one before; spell 0 begins at 0. Present and absent spells alternate.
  virtual Spell spell(const Attendant& worker, std::uint64_t k, Time begin) const = 0;
  /// Share of all time in which a worker is expected to be present, over the workers of the group.
  virtual double share() const = 0;
  /// Why its file may have another unit than seconds, a sentence; empty: no reason.
  virtual std::string doubt() const { return {}; }
};

struct AvailabilityEntry {
  std::string name, summary;
  DeclaredParameters parameters;
  /// Null: always present. Throws std::invalid_argument on a file that cannot be read.
  std::function<std::unique_ptr<Availability>(const Parameters&)> make;
};

}  // namespace straggler
