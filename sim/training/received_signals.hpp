// The signals that have reached one worker. Both back ends use it.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/training/operations.hpp"

namespace straggler {

/// Keeps the highest number that has come, and the operation that waits for a number at least as high as its own.
class ReceivedSignals {
 public:
  /// True: such a signal has come already.
  bool wait(SignalOperation& operation) {
    if (highest_ && *highest_ >= operation.number()) {
      operation.came(*highest_);
      return true;
    }
    waiting_ = &operation;
    return false;
  }
  void arrive(std::uint64_t number) {
    if (highest_ && *highest_ >= number) return;
    highest_ = number;
    if (!waiting_ || number < waiting_->number()) return;
    SignalOperation* const operation = std::exchange(waiting_, nullptr);
    operation->came(number);
    operation->complete();
  }
  void leave(const Operation& operation) noexcept {
    if (waiting_ == &operation) waiting_ = nullptr;
  }
  /// Null: none waits.
  const SignalOperation* waiting() const { return waiting_; }

 private:
  std::optional<std::uint64_t> highest_;
  SignalOperation* waiting_ = nullptr;
};

}  // namespace straggler
