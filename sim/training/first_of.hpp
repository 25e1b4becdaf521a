// Waiting for whichever of two operations completes first.
#pragma once
#include <type_traits>
#include <utility>
#include <variant>

#include "sim/training/node.hpp"

namespace straggler {

/// Waits for whichever of two operations completes first and gives up the other at that instant. The second wins ties at the
/// start: put what interrupts there. The choice is recorded; a replay forces it.
/// Branch: Pending<A>, or Pending<A>& of an operation that has begun (Node::begin): that one is not given up but stays in flight.
template <class A, class B, class Branch = Pending<A>>
class FirstOf final : OperationParent {
 public:
  FirstOf(Branch&& a, Pending<B>&& b) : a_(std::forward<Branch>(a)), b_(std::move(b)) {}
  FirstOf(const FirstOf&) = delete;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter);
  using Result = std::variant<decltype(std::declval<A&>().await_resume()), decltype(std::declval<B&>().await_resume())>;
  Result await_resume();

 private:
  static constexpr bool keeps_a = std::is_reference_v<Branch>;
  void lose_a() {
    if constexpr (keeps_a)
      a_->set_waiter(nullptr, nullptr);
    else
      a_->give_up();
  }
  /// The branch that a replay decides against, unless it waits for a message or a signal: beginning to wait takes no time, and would take
  /// the message.
  static void begin_loser(Operation& operation) {
    if (operation.kind() == Operation::Kind::receive || operation.kind() == Operation::Kind::signal) return;
    operation.complete_unheard();
    operation.begin();
  }
  /// One that was in flight may have been settled before anybody waited.
  void note_if_settled(Operation& operation) {
    if (!winner_ && operation.state() == Operation::State::woken) completed(operation);
  }
  void completed(Operation& operation) override {
    winner_ = &operation;
    if (winner_ == &*a_)
      b_->give_up();
    else
      lose_a();
  }
  Branch a_;
  Pending<B> b_;
  Operation* winner_ = nullptr;
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

template <class A, class B, class Branch>
bool FirstOf<A, B, Branch>::await_suspend(std::coroutine_handle<> waiter) {
  a_->set_waiter(waiter, this);
  b_->set_waiter(waiter, this);
  const std::int32_t forced = a_->node().backend().forced_choice(a_->node().self());
  if (forced > 1)
    throw ReplayMismatch(a_->node().name() + " is to take branch " + std::to_string(forced) + " of two; the choices are of another run");
  // A replay decides, and time passes as in the run: the loser takes what it took there until the winner completes.
  if (forced == 0) {
    begin_loser(*b_);
  } else {
    if (b_->begin()) {
      winner_ = &*b_;
      if constexpr (keeps_a) lose_a();
      return false;
    }
    note_if_settled(*b_);
    if (winner_) return true;  // settled already, resumes later
  }
  if (forced == 1) {
    if constexpr (keeps_a)
      lose_a();
    else
      begin_loser(*a_);
  } else if (a_->begin()) {
    winner_ = &*a_;
    b_->give_up();
    return false;
  } else {
    note_if_settled(*a_);
  }
  return true;
}

template <class A, class B, class Branch>
typename FirstOf<A, B, Branch>::Result FirstOf<A, B, Branch>::await_resume() {
  a_->node().backend().chosen(a_->node().self(), winner_ == &*b_ ? 1 : 0);
  if (winner_ == &*a_) return Result(std::in_place_index<0>, a_->await_resume());
  return Result(std::in_place_index<1>, b_->await_resume());
}

}  // namespace straggler
