// Waiting for whichever of two operations completes first.
#pragma once
#include <type_traits>
#include <utility>
#include <variant>

#include "sim/training/node.hpp"

namespace straggler {

/// The rule of first_of, for any two operations that a derived class owns: waits for whichever completes first and cancels the other at
/// that instant. The second wins ties at the start. The choice is recorded; a replay forces it.
class FirstOfTwo : OperationParent {
 public:
  FirstOfTwo(const FirstOfTwo&) = delete;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter);

 protected:
  FirstOfTwo() = default;
  ~FirstOfTwo() = default;
  /// Records the winner. Called once, at the end.
  bool second_has_won();

 private:
  virtual Operation& first() = 0;
  virtual Operation& second() = 0;
  /// The first one had begun before: if it loses, it stays in flight.
  virtual bool keeps_first() const = 0;
  void lose_first();
  static void begin_loser(Operation& operation);
  void note_if_settled(Operation& operation);
  void completed(Operation& operation) override;
  Operation* winner_ = nullptr;
};

/// Waits for whichever of two operations completes first and cancels the other at that instant. The second wins ties at the
/// start: put the interrupting operation there.
/// Branch: Pending<A>, or Pending<A>& of an operation that has begun (Node::begin): the latter is not cancelled but stays in flight.
template <class A, class B, class Branch = Pending<A>>
class FirstOf final : public FirstOfTwo {
 public:
  FirstOf(Branch&& a, Pending<B>&& b) : a_(std::forward<Branch>(a)), b_(std::move(b)) {}
  using Result = std::variant<decltype(std::declval<A&>().await_resume()), decltype(std::declval<B&>().await_resume())>;
  Result await_resume() {
    if (second_has_won()) return Result(std::in_place_index<1>, b_->await_resume());
    return Result(std::in_place_index<0>, a_->await_resume());
  }

 private:
  Operation& first() override { return *a_; }
  Operation& second() override { return *b_; }
  bool keeps_first() const override { return std::is_reference_v<Branch>; }
  Branch a_;
  Pending<B> b_;
};

template <class A, class B>
FirstOf<A, B> first_of(Pending<A> a, Pending<B> b) {
  return FirstOf<A, B>(std::move(a), std::move(b));
}

/// Waits for `in_flight` too, and leaves it in flight if the other one is first.
template <class A, class B>
FirstOf<A, B, Pending<A>&> first_of_in_flight(Pending<A>& in_flight, Pending<B> b) {
  return FirstOf<A, B, Pending<A>&>(in_flight, std::move(b));
}

}  // namespace straggler
