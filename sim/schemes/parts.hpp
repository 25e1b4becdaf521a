// Coroutines that several schemes share.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "sim/training/answers.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes {

/// A worker that sends each gradient to the server and waits for its answer.
Process push_and_fetch(Node& node);
/// A worker whose server interrupts it by new weights: it discards its unfinished batch and draws its next one. After a gradient it waits
/// for them, or computes on at the same weights.
Process push_until_interrupted(Node& node, bool waits);

/// A server that steps on the mean of the first k gradients, each from a different worker, w ← w - lr (1/k) Σ g(w_read).
struct FirstGradients {
  std::int64_t count;    // k
  bool at_this_version;  // older ones are dropped
  enum class NewWeights {
    to_all,      // to all members at once: they interrupt those that compute
    to_round,    // to those in the update at once; late ones are answered as they come
    to_averaged  // to those in the update, side by side
  } new_weights = NewWeights::to_all;
};
/// `answers`: to late ones, or to those in the update. None: to_all.
Process average_first(Node& node, FirstGradients rule, std::optional<Answers> answers);

/// The same of gradients from any workers.
struct FromAny {
  std::int64_t count;
  bool at_this_version;
  std::function<double(std::uint64_t)> damping = nullptr;  // s(τ), what a gradient counts; null: 1
};
/// Each gradient is answered when it comes. Without `answers` the new weights go to all members at once: they interrupt those that compute.
Process average_from_any(Node& node, FromAny rule, std::optional<Answers> answers);

}  // namespace straggler::schemes
