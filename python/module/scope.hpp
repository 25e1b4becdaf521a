// Lifetimes of the parts of a simulation that Python's objects hold.
//  A simulation lives on one thread, and its values have counters that no other thread may touch. Python's objects live while they are
// referenced, and die on any thread that holds the interpreter's lock. Invariants:
//  - When the simulation's processes have ended, everything that objects hold of it is dropped, on its thread. The objects remain, empty.
//  - An object that dies on another thread hands its value to the simulation's thread.
//  - Lists of objects are touched with the interpreter's lock held; values only on the simulation's thread.
#pragma once
#include <pthread.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/module/awaited.hpp"
#include "sim/training/node.hpp"

namespace straggler::python {

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

/// Values that can be handed to the simulation's thread.
using Remains = std::variant<Weights, Gradient, Handle, std::shared_ptr<Optimizer>, std::unique_ptr<Awaited>, std::unique_ptr<PushWeight>>;

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
  Scope(py::object instance, Rank limit, bool has_server);
  ~Scope();
  Scope(const Scope&) = delete;

  bool is_here() const { return pthread_equal(thread_, pthread_self()); }
  py::handle instance() const { return instance_.get(); }
  Rank ranks() const { return ranks_; }
  bool has_server() const { return has_server_; }
  /// Drops the values of objects that died on other threads. On the simulation's thread, with the lock held.
  void clean_up() {
    if (!left_.empty()) left_.clear();
  }
  void leave(Remains what) { left_.push_back(std::move(what)); }
  /// True once: many steps and nothing published, a likely mistake, since only updates end a run.
  bool steps_for_nothing() { return ++unpublished_steps_ == 10'000; }
  void published() { unpublished_steps_ = 10'000; }

 private:
  friend class HeldBase;
  const pthread_t thread_ = pthread_self();
  Kept instance_;
  Rank ranks_;
  bool has_server_;
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
  Peer sender;  // of a received payload; otherwise anyone

 private:
  static void drop(HeldBase& self) { static_cast<Held&>(self).value_ = T(); }
  T value_;
};

using WeightsObject = Held<Weights>;
using GradientObject = Held<Gradient>;
using VectorObject = Held<Handle>;
using OptimizerObject = Held<std::shared_ptr<Optimizer>>;

/// Objects without a value of a simulation.
struct TokenObject {
  Token token;
  Peer sender = Peer(anyone, Peer::any_life);
};

/// A plain copy: Samples are counted, and Python's objects may die on any thread.
struct SamplesObject {
  DrawnBatch batch;
  std::uint64_t bytes = 0;
  Peer sender = Peer(anyone, Peer::any_life);
  Samples samples() const {
    Samples all;
    all.edit().batch = batch;
    all.edit().bytes = bytes;
    return all;
  }
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
