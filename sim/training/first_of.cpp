#include "sim/training/first_of.hpp"

namespace straggler {

void FirstOfTwo::lose_first() {
  if (keeps_first())
    first().set_waiter(nullptr);
  else
    first().give_up();
}

/// The branch that a replay decides against, unless it waits for a message or a signal: beginning to wait takes no time, and would take
/// the message.
void FirstOfTwo::begin_loser(Operation& operation) {
  if (operation.kind() == Operation::Kind::receive || operation.kind() == Operation::Kind::signal) return;
  operation.complete_unheard();
  operation.begin();
}

/// An operation in flight may have completed before the wait began.
void FirstOfTwo::note_if_settled(Operation& operation) {
  if (!winner_ && operation.state() == Operation::State::woken) completed(operation);
}

void FirstOfTwo::completed(Operation& operation) {
  winner_ = &operation;
  if (winner_ == &first())
    second().give_up();
  else
    lose_first();
}

bool FirstOfTwo::await_suspend(std::coroutine_handle<> waiter) {
  Operation &a = first(), &b = second();
  waiter_ = waiter;
  a.set_parent(*this);
  b.set_parent(*this);
  const std::int32_t forced = a.node().backend().forced_choice(a.node().self());
  if (forced > 1)
    throw ReplayMismatch(a.node().name() + " is to take branch " + std::to_string(forced) + " of two; the choices are of another run");
  // In a replay the recorded branch wins, and time passes as in the run: the loser stays in progress until the winner completes.
  if (forced == 0) {
    begin_loser(b);
  } else {
    if (b.begin()) {
      winner_ = &b;
      if (keeps_first()) lose_first();
      return false;
    }
    note_if_settled(b);
    if (winner_) return true;  // settled already, resumes later
  }
  if (forced == 1) {
    if (keeps_first())
      lose_first();
    else
      begin_loser(a);
  } else if (a.begin()) {
    winner_ = &a;
    b.give_up();
    return false;
  } else {
    note_if_settled(a);
  }
  return true;
}

bool FirstOfTwo::second_has_won() {
  const Operation &a = first(), &b = second();
  a.node().backend().chosen(a.node().self(), winner_ == &b ? 1 : 0);
  return winner_ == &b;
}

}  // namespace straggler
