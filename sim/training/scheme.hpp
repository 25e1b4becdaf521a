// A training scheme: one coroutine a worker and, where it has one, one for the parameter server. One file a scheme.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/registry.hpp"
#include "sim/engine/process.hpp"

namespace straggler {

class Node;
struct TrainingPlan;

/// Immutable: all state of a run lives in the coroutines. Talks to the world through Node only.
class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual Process worker(Node& node) const = 0;
  /// Not called for schemes without a server.
  virtual Process server(Node& node) const;
};

/// What the others do when a worker crashes. A scheme declares which of these it can do, the first one being its default:
///  - wait: they wait until it is back; it starts again from the latest version.
///  - drop: they go on without it; it takes part again when it is back.
///  - abort: the run ends.
/// A worker that leaves for good, or has yet to join, is never waited for.
Parameter on_failure(std::vector<std::string> choices, const std::string& meaning);

struct SchemeEntry {
  std::string name, summary, reference;
  std::vector<Parameter> parameters = {};
  std::function<std::unique_ptr<Scheme>(const Parameters&)> make;
  /// False: workers exchange by all-reduce or not at all; each publishes, worker 0's is recorded.
  std::function<bool(const Parameters&)> needs_server = [](const Parameters&) { return false; };
  /// Published updates in one pass over the data, where that is fixed, from the plan's drawing rule.
  std::function<std::optional<double>(const Parameters&, const TrainingPlan&)> updates_per_epoch;
  /// Size of the pieces in which a worker takes its batch (TrainingPlan::minibatch); none: whole.
  std::function<std::optional<std::int64_t>(const Parameters&)> minibatch = [](const Parameters&) { return std::optional<std::int64_t>(); };
  std::optional<std::int64_t> only_workers = std::nullopt;  // runs on exactly so many workers
  bool real = true;                                         // can run on MPI ranks
  bool one_process = false;  // worker 0's process drives all workers: it loads for them (Node::load), and none may join or leave
};

}  // namespace straggler
