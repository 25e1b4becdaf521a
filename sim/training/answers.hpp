// The parameter `answers` of schemes whose server answers single workers: what the server does while an answer leaves.
#pragma once
#include <coroutine>
#include <optional>
#include <utility>

#include "sim/training/node.hpp"

namespace straggler {

/// An answer that has begun to leave. Awaited, it completes when the server may continue.
class Answer {
 public:
  /// The server does not wait for it.
  Answer() = default;
  /// The server waits until its last byte has left.
  explicit Answer(Pending<SendOperation> sending) { sending_.emplace(std::move(sending)); }
  bool await_ready() const noexcept { return !sending_ || sending_->await_ready(); }
  bool await_suspend(std::coroutine_handle<> waiter) { return sending_->await_suspend(waiter); }
  void await_resume() const noexcept {}

 private:
  std::optional<Pending<SendOperation>> sending_;
};

/// in_turn: the server waits until its answer has left, then takes the next message. at_once: it does not wait, so answers share its links.
/// On real ranks an answer has left when MPI says so: a small one when it is buffered.
class Answers {
 public:
  explicit Answers(const Parameters& parameters) : in_turn_(choice.of(parameters) == When::in_turn) {}
  static Parameter parameter() {
    return choice.parameter(When::in_turn,
                            "in_turn: the server takes the next message when its answer has left; at_once: it continues while answers "
                            "share its link");
  }
  /// The answer to that life of a worker begins to leave.
  template <class T>
  Answer send(Node& node, Peer to, const T& payload) const {
    if (in_turn_) return Answer(node.begin(node.send(to, payload)));
    node.post(to, payload);
    return Answer();
  }

 private:
  enum class When { in_turn, at_once };
  static constexpr ChoiceTable<When> choice = ChoiceTable<When>("answers", {{When::in_turn, "in_turn"}, {When::at_once, "at_once"}});
  bool in_turn_;
};

}  // namespace straggler
