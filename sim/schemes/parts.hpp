// Coroutines that several schemes share.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "sim/training/answers.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes {

/// A worker that sends each gradient to the server and waits for its answer.
Process push_and_fetch(Node& node);
/// A worker whose server interrupts it by new weights: it discards its unfinished batch and draws its next one. After a gradient it waits
/// for them, or computes on at the same weights.
Process push_until_interrupted(Node& node, bool waits);

/// A server that steps on the mean of the first k gradients, w ← w - lr (1/k) Σ s(τ) g(w_read).
struct FirstGradients {
  std::int64_t count;     // k
  bool at_this_version;   // older ones are dropped
  bool from_any = false;  // several of one worker count, and each is answered as it comes; otherwise each is from a different worker
  bool at_once = false;   // the new weights go to those in the update at once; otherwise side by side, each as `answers` says
  std::function<double(std::uint64_t)> damping = nullptr;  // s(τ), what a gradient counts; null: 1
};
/// Without `answers` the new weights go to all members at once: they interrupt those that compute. With them late ones are answered, too.
Process average_first(Node& node, FirstGradients rule, std::optional<Answers> answers);

/// An all-reduce of means that counts samples: what a worker brings of its batch, (n / b) ḡ of the n samples of b that it has done; what it
/// brings without any (n = 0), to be shared like that; and the mean over all samples, of the mean of what they have brought.
Gradient share_of_batch(Node& node, const Gradient& mean);
Gradient no_samples(Node& node, const Weights& weights);
Gradient averaged_by_samples(Node& node, const Gradient& mean);

/// Of a server that does so: as many gradients as that parameter says, and the new weights to all.
UpdateTraffic up_and_to_all(const std::string& parameter);

/// An outer optimizer that takes plain steps.
OptimizerChoice plain_steps(double rate);

}  // namespace straggler::schemes
