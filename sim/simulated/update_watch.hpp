// Aborts a run that can never stop: its stop rule counts updates or samples, and the scheme makes none.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "sim/training/node.hpp"

namespace straggler {

/// There was no update, or none with samples, for so long that none will come. what() says how long that was, and what to do.
struct NoUpdates : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A process only polls, so that time stands still. what() names it, and what the scheme should do.
struct Standstill : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Limits on work without an update. No correct scheme comes near them.
struct UpdatePatience {
  std::uint64_t steps = 20'000;       // of servers and aggregators together; weights that nobody publishes carry a contribution of each
  std::uint64_t gradients = 100'000;  // of each worker, on average
  double passes = 1'000;              // of these gradients over the training set, if its size is known

  /// `counts`: the product of the scheme's whole numbers, such as clients and local steps, by which it may put off an update. `epochs`: of
  /// the run's stop, or 0.
  static UpdatePatience of(double counts, double epochs) {
    UpdatePatience patience;
    patience.steps = static_cast<std::uint64_t>(std::clamp(10 * counts, 2e4, 1e12));
    patience.gradients = static_cast<std::uint64_t>(std::clamp(10 * counts, 1e5, 1e12));
    patience.passes = std::max({1e3, 10 * counts, 10 * epochs});
    return patience;
  }
};

/// What brings a run nearer to its stop.
enum class Goal : std::uint8_t { updates, samples };

/// Counts work. It looks for an update only after that much of it, so it may notice a lack of updates late, but never too early.
class UpdateWatch {
 public:
  UpdateWatch(UpdatePatience patience, Goal goal, const TrainingPlan& plan)
      : patience_(patience),
        goal_(goal),
        gradients_(patience.gradients * static_cast<std::uint64_t>(plan.workers)),
        epoch_samples_(plan.epoch_samples) {}

  /// A worker computes a gradient of so many samples. True: it is time to look whether there were updates.
  bool computes(std::uint64_t samples) {
    samples_ += samples;
    return ++computed_ == next_gradients_;
  }
  /// The same for a step of a server or an aggregator.
  bool steps() { return ++stepped_ == next_steps_; }
  /// `latest`: the version published last. `why`: the reason why the server gets no contribution, if it is known. Throws NoUpdates.
  void look_at_gradients(const Weights& latest, const std::string& why);
  void look_at_steps(const Node& node, const Weights& latest);

 private:
  /// True: the run has come nearer to its stop since the counts began, and they begin anew.
  bool begins_anew(const Weights& latest);
  [[noreturn]] void refuse(const std::string& work, const std::string& why) const;

  UpdatePatience patience_;
  Goal goal_;
  std::uint64_t gradients_, epoch_samples_, next_gradients_ = gradients_, next_steps_ = patience_.steps;
  std::uint64_t computed_ = 0, samples_ = 0, stepped_ = 0;
  std::uint64_t reached_ = 0, version_ = 0;  // updates or samples, and the version that had them first
  std::uint64_t empty_updates_ = 0;          // published since
};

/// Counts actions that take no simulated time (polls, zero timers) and could repeat forever.
class PollWatch {
 public:
  explicit PollWatch(Rank workers) : most_(100'000 + 10 * static_cast<std::uint64_t>(workers)) {}
  /// Throws Standstill where all processes together have polled far more often at this moment than any correct scheme.
  void polls(const Node& node, Time now) {
    if (now != at_) count_ = 0;
    at_ = now;
    if (++count_ > most_) refuse(node);
  }

 private:
  [[noreturn]] void refuse(const Node& node) const;
  std::uint64_t most_, count_ = 0;
  Time at_;
};

}  // namespace straggler
