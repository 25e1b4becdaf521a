// What keeps what alive, in the whole module.
//
//  Who owns what:
//  - a process (its frame): its Life, until the worker crashes, leaves or is absent, or the run ends
//  - Life: references to the generator, to the node as Python sees it, and to the operation that is awaited; shares the Scope
//  - Scope: the author's object. One for all processes of a simulation; it ends with the last of them
//  - Weights, Gradient, … (Held): their value, until the Scope ends; then they are empty
//  - Optimizer: an optimizer of its own, likewise; or none: it stands for the one that its node has when it is used
//  - Operation: its Awaited, until it has been awaited, or is part of a first_of, or its Life ends
//  - Awaited of a step: shares the optimizer
//  - first_of: both of its operations
//  - first_of_in_flight: the second one, and a reference to the object of the first one, which may be over: it is asked where it is awaited
//  - PushWeight: its share, until its Life ends: it returns to the run's pool
//  - Peer, Token, Samples, …: nothing. They are copies, and may come from any run. Who uses one checks its rank, or its run (Scope::number)
//  - registered schemes: their class and functions, as long as the entry is registered. Rules and optimizers: for ever
//
//  - A simulation lives on one thread, and its values have counters that no other thread may touch. Python's objects live while they are
//    referenced, and die on any thread that holds the interpreter's lock: there they hand their value to the simulation's thread.
//  - Lists of objects are touched with the lock held; values only on the simulation's thread.
//  - When a Life or a Scope ends, what it has lent to objects is dropped, on its thread. The objects remain, empty; all that they are asked
//    raises an error.
//  - A node is used by its own generator alone, while that runs (Scope::Turn), or by a function that one of its operations calls. So no
//    `finally`, no `__del__` and no other generator comes in where the simulation is at work.
//  - No object of the module is without its value (calls.hpp).
//  - What asks for the lock stands still where the interpreter ends (InterpreterEnd).
#pragma once
#include <pthread.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/module/awaited.hpp"
#include "sim/training/node.hpp"

namespace straggler {
class FederatedRounds;
}

namespace straggler::python {

class Life;
class Scope;

/// A member of a list of objects that end together.
class Linked {
 public:
  Linked() = default;
  Linked(const Linked&) = delete;
  ~Linked() { unlink(); }
  void link(Linked& head) {
    next_ = head.next_;
    previous_ = &head;
    if (next_) next_->previous_ = this;
    head.next_ = this;
  }
  void unlink() {
    if (previous_) previous_->next_ = next_;
    if (next_) next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }
  Linked* next() const { return next_; }

 private:
  Linked *next_ = nullptr, *previous_ = nullptr;
};

/// An optimizer that Python has made, or the node's own.
struct AnyOptimizer {
  std::shared_ptr<Optimizer> made;  // null: the node's
  Node* of = nullptr;
  Optimizer& get() const { return made ? *made : of->optimizer(); }
};

class NodeObject;
/// A batch in progress, and the node that computes it, which its Python object keeps.
struct AnyWork {
  std::shared_ptr<Work> made;
  NodeObject* of = nullptr;
};

/// Values that can be handed to the simulation's thread.
using Remains = std::variant<Weights, Gradient, Handle, AnyOptimizer, AnyWork, std::unique_ptr<Awaited>, std::unique_ptr<PushWeight>>;

/// A value of a simulation, held by a Python object.
class HeldBase : public Linked {
 public:
  bool alive() const { return scope_ != nullptr; }
  /// Throws std::runtime_error if its simulation has ended or runs on another thread.
  Scope& scope() const;

 protected:
  using Drop = void (*)(HeldBase&);
  HeldBase(Scope& scope, Drop drop);
  ~HeldBase() = default;
  Scope* scope_;

 private:
  friend class Scope;
  Drop drop_;
};

/// The objects of one simulation.
class Scope {
 public:
  /// `instance`: the author's scheme. `limit`: ranks are below it.
  Scope(py::object instance, Rank limit, bool has_server, const Parameters& parameters);
  ~Scope();
  Scope(const Scope&) = delete;

  bool is_here() const { return pthread_equal(thread_, pthread_self()); }
  py::handle instance() const { return instance_.get(); }
  Rank ranks() const { return ranks_; }
  bool has_server() const { return has_server_; }
  /// Of rounds of clients, by the scheme's parameters (round_rules, which throws); made on first use.
  const FederatedRounds& rules();
  /// Of no other simulation of this process.
  std::uint64_t number() const { return number_; }
  /// Drops the values of objects that died on other threads. On the simulation's thread, with the lock held.
  void clean_up() {
    while (!left_.empty()) std::vector<Remains>(std::move(left_)).clear();  // which may run Python's code
  }
  /// While it lives, Python's code of a life runs: its generator, or a function that one of its operations calls.
  class Turn {
   public:
    Turn(Scope& scope, const Life& life) : scope_(scope), before_(std::exchange(scope.turn_, &life)) {}
    ~Turn() { scope_.turn_ = before_; }
    Turn(const Turn&) = delete;

   private:
    Scope& scope_;
    const Life* before_;
  };
  bool is_turn_of(const Life& life) const { return turn_ == &life; }
  void leave(Remains what) { left_.push_back(std::move(what)); }
  /// True once: many steps and nothing published, a likely mistake, since only updates end a run.
  bool steps_for_nothing() { return ++unpublished_steps_ == 10'000; }
  void published() { unpublished_steps_ = 10'000; }

 private:
  friend class HeldBase;
  const pthread_t thread_ = pthread_self();
  const std::uint64_t number_;
  const Life* turn_ = nullptr;  // whose code runs; null: nobody's
  Kept instance_;
  Rank ranks_;
  bool has_server_;
  const Parameters parameters_;
  std::unique_ptr<const FederatedRounds> rules_;
  Linked objects_;  // head
  std::vector<Remains> left_;
  std::uint64_t unpublished_steps_ = 0;  // of a scheme that has published nothing
};

template <class T>
class Held final : public HeldBase {
 public:
  Held(Scope& scope, T what, Peer from = Peer(anyone, Peer::any_life)) : HeldBase(scope, drop), sender(from), value_(std::move(what)) {}
  ~Held() {
    if (scope_ && !scope_->is_here()) scope_->leave(std::move(value_));
  }
  /// Throws std::runtime_error as scope() does.
  T& value() {
    scope();
    return value_;
  }
  const T& value() const {
    scope();
    return value_;
  }
  Peer sender;             // of a received payload; otherwise anyone
  bool discarded = false;  // Node::discard has counted it as wasted

 private:
  static void drop(HeldBase& self) { static_cast<Held&>(self).value_ = T(); }
  T value_;
};

using WeightsObject = Held<Weights>;
using GradientObject = Held<Gradient>;
using VectorObject = Held<Handle>;
using OptimizerObject = Held<AnyOptimizer>;
using WorkObject = Held<AnyWork>;

/// Objects without a value of a simulation.
struct TokenObject {
  Token token;
  Peer sender = Peer(anyone, Peer::any_life);
};

struct BatchObject {
  DrawnBatch batch;
  std::uint64_t run = 0;  // Scope::number
};

/// A plain copy: Samples are counted, and Python's objects may die on any thread.
struct SamplesObject {
  BatchObject batch;
  std::uint64_t bytes = 0;
  Peer sender = Peer(anyone, Peer::any_life);
  Samples samples() const {
    Samples all;
    all.edit().batch = batch.batch;
    all.edit().bytes = bytes;
    return all;
  }
};

/// What one worker has drawn, by the process that draws for it.
struct DrawingObject {
  Drawing drawing;
  std::uint64_t run = 0;  // 0: nothing has been drawn
};

/// The Python type of a payload's class: the argument of node.receive.
struct PayloadTypes {
  py::handle weights, gradient, token, samples, notice;
};
PayloadTypes& payload_types();

/// Python's names of payloads and values. Called once, by the module.
void define_values(py::module_& module);

// To Python, with the lock held, on the simulation's thread.
py::object to_python(Scope& scope, Weights weights);
py::object to_python(Scope& scope, Gradient gradient);
py::object to_python(Scope& scope, Handle vector);
py::object to_python(Scope& scope, Token token);
py::object to_python(Scope& scope, const DrawnBatch& batch);
py::object to_python(Scope& scope, From<Samples> samples);
py::object to_python(Scope& scope, From<Weights> weights);
py::object to_python(Scope& scope, From<Gradient> gradient);
py::object to_python(Scope& scope, From<Token> token);
py::object to_python(Scope& scope, From<MembershipNotice> notice);
py::object to_python(Scope& scope, SyncSignal signal);
inline py::object to_python(Scope&, Proceed) { return py::none(); }
inline py::object to_python(Scope&, TimerOperation::TimedOut) { return py::none(); }
template <class T>
py::object to_python(Scope& scope, std::optional<T> what) {
  return what ? to_python(scope, std::move(*what)) : py::none();
}
template <class T>
py::object to_python(Scope& scope, std::vector<T> all) {
  py::list list(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) list[i] = to_python(scope, std::move(all[i]));
  return list;
}

}  // namespace straggler::python
