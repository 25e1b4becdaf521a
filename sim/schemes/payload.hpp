// What nodes send each other: weights, gradients and control signals, all as handles with a little bookkeeping.
#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "sim/lineage/lineage.hpp"

namespace straggler {

using Rank = std::int32_t;  // workers 0 .. p-1, then servers
inline constexpr Rank anyone = -1;

/// A batch and where its samples lie in the worker's own work, which jitter follows: they differ where workers draw from one pool.
struct DrawnBatch : Batch {
  std::uint64_t work = 0;
};

/// What a worker put into weights or a gradient since it last read a published version: a row of order.csv.
struct Contribution {
  Rank worker = 0;
  std::uint32_t steps = 0;
  std::uint64_t samples = 0, read_version = 0, first_position = 0;
};
using Contributions = boost::container::small_vector<Contribution, 1>;

// Classes with constructors, not aggregates: g++ 12 destroys aggregate temporaries in co_await twice.

/// Model parameters.
struct Weights {
  Weights() {}
  Handle value;
  std::uint64_t version = 0;        // the published version that these derive from
  std::uint64_t progress = 0;       // samples counted in that version; schedules read it
  std::uint64_t local_samples = 0;  // samples of steps taken since that version, not yet published
  std::int32_t participants = 1;    // workers that take steps like this one's between two versions: schedules reckon with it
  Contributions made;               // applied since that version, not yet published
  std::vector<Handle> optimizer;    // the sender's optimizer state, where a scheme averages that too
};

/// A gradient, or the mean or sum of several.
struct Gradient {
  Gradient() {}
  Handle value;
  std::uint64_t version = 0, progress = 0;           // of the weights that it was taken at: staleness = server's version - version
  std::uint64_t samples = 0;                         // that were looked at
  int averaged = 1;                                  // how many workers' gradients are averaged in it
  Handle at;                                         // the weights; empty if it was taken at several
  boost::container::small_vector<Batch, 1> batches;  // value is the mean over these of the gradient at `at`; empty if it is not such a mean
  Contributions made;
};

/// A numbered control word; carries no bytes and is not a message: only the highest number that has come is kept.
struct SyncSignal {
  explicit SyncSignal(std::uint64_t n) : number(n) {}
  std::uint64_t number;
};

using Payload = std::variant<Weights, Gradient>;

/// A payload and who sent it.
template <class T>
struct From : T {
  From(T payload, Rank from) : T(std::move(payload)), sender(from) {}
  Rank sender;
};

/// A message between two nodes. Back ends derive from it what they need to carry it.
struct Message {
  Message(Rank sender, Rank receiver, Payload what) : from(sender), to(receiver), payload(std::move(what)) {}
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;
  Rank from, to;
  Payload payload;
};
using MessagePointer = std::unique_ptr<Message>;

}  // namespace straggler
