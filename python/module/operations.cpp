#include "python/module/operations.hpp"

#include <stdexcept>
#include <string>

#include "python/module/calls.hpp"
#include "python/module/rounds.hpp"

namespace straggler::python {

namespace {

py::handle operation_type;

const char* role_method(Life::Role role) {
  return role == Life::Role::worker ? "worker" : role == Life::Role::server ? "server" : "aggregator";
}

/// The first of two operations to end. Owns the second one, and the first one unless that is in flight: then it refers to its object.
class AwaitedFirst final : public Awaited, private FirstOfTwo {
 public:
  AwaitedFirst(std::unique_ptr<Awaited> a, std::unique_ptr<Awaited> b) : own_(std::move(a)), b_(std::move(b)) {}
  AwaitedFirst(const py::object& in_flight, OperationObject& a, std::unique_ptr<Awaited> b)
      : kept_(in_flight), in_flight_(&a), b_(std::move(b)) {}
  void require_ready() const override {
    if (in_flight_ && !in_flight_->what())
      throw std::runtime_error("the first operation of this first_of_in_flight has been awaited already; make a new one");
  }
  bool await_suspend(std::coroutine_handle<> waiter) override { return FirstOfTwo::await_suspend(waiter); }
  py::object result(Scope& scope) override {
    if (second_has_won()) return py::make_tuple(1, b_->result(scope));
    if (!in_flight_) return py::make_tuple(0, own_->result(scope));
    const std::unique_ptr<Awaited> over = in_flight_->take();
    return py::make_tuple(0, over->result(scope));
  }

 private:
  Operation& first() override { return *(in_flight_ ? in_flight_->what() : own_.get())->operation(); }
  Operation& second() override { return *b_->operation(); }
  bool keeps_first() const override { return in_flight_ != nullptr; }
  Kept kept_;                             // the object of the first one
  OperationObject* in_flight_ = nullptr;  // null: it has not begun, and is owned
  std::unique_ptr<Awaited> own_, b_;
};

/// Awaits a life's current awaitable.
class Next {
 public:
  explicit Next(Awaited& what) : what_(what) {}
  bool await_ready() const { return what_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> waiter) const { return what_.await_suspend(waiter); }
  void await_resume() const noexcept {}

 private:
  Awaited& what_;
};

}  // namespace

OperationObject::OperationObject(Life& life, std::unique_ptr<Awaited> what) : life_(&life), what_(std::move(what)) {
  link(life.operations());
}

OperationObject::~OperationObject() {
  if (!life_ || !what_) return;
  if (!life_->scope().is_here())
    life_->scope().leave(std::move(what_));
  else if (!begun_)
    life_->note_forgotten();
}

Awaited& OperationObject::awaited(const Life& life) const {
  if (!what_) throw std::runtime_error("this operation has been awaited, or the life that began it is over; make a new one");
  if (life_ != &life) throw std::runtime_error("this is an operation of another node; each generator awaits those of its own node");
  if (waits_) throw std::runtime_error("this operation is being awaited; make a new one");
  return *what_;
}

Awaited& OperationObject::wait(const Life& life) {
  Awaited& what = awaited(life);
  what.require_ready();
  waits_ = true;
  return what;
}

std::unique_ptr<Awaited> OperationObject::take() {
  unlink();
  life_ = nullptr;
  return std::move(what_);
}

void OperationObject::begin() {
  if (!may_begin_)
    throw std::invalid_argument(
        "this operation cannot be in flight; gradients, sends, timers, collectives and receives from a given rank can");
  begun_ = true;
  what_->operation()->begin();
}

void OperationObject::drop() { take().reset(); }

Life& NodeObject::life() const {
  if (!life_) throw std::runtime_error("this node's life is over: its worker has crashed or left, or the run has ended");
  if (!life_->has_turn()) throw std::runtime_error("a node is for its own generator, while that runs");
  return *life_;
}

std::string NodeObject::text() const {
  if (!life_) return "<straggler.Node of a life that is over>";
  return life_->scope().is_here() ? "<straggler.Node " + life_->node().name() + ">" : "<straggler.Node of another thread>";
}

Life::Life(Node& node, std::shared_ptr<Scope> scope, Role role) : node_(node), scope_(std::move(scope)) {
  const Gil gil;
  scope_->clean_up();
  object_ = Kept(py::cast(std::make_unique<NodeObject>(*this)));
  const char* const method = role_method(role);
  try {
    const Scope::Turn turn(*scope_, *this);
    py::object generator = scope_->instance().attr(method)(object_.get());
    if (!PyGen_Check(generator.ptr()))
      throw py::type_error(std::string(method) + "(self, node) of the scheme is no generator: it never yields an operation");
    generator_ = Kept(std::move(generator));
  } catch (...) {
    object_.get().cast<NodeObject&>().end();
    throw;
  }
}

Life::~Life() {
  const Gil gil;
  // A pending exception belongs to other code.
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (object_) object_.get().cast<NodeObject&>().end();
  while (Linked* const next = operations_.next()) static_cast<OperationObject&>(*next).drop();
  while (Linked* const next = push_weights_.next()) static_cast<PushWeightObject&>(*next).drop();
  scope_->clean_up();
  current_ = Kept();
  if (generator_) {
    // Raises GeneratorExit at its `yield`; it can no longer use the node.
    PyObject* const closed = PyObject_CallMethod(generator_.get().ptr(), "close", nullptr);
    if (closed)
      Py_DECREF(closed);
    else
      PyErr_WriteUnraisable(generator_.get().ptr());
  }
  generator_ = Kept();
  object_ = Kept();
  PyErr_Restore(type, value, trace);
}

Rounds& Life::rounds() {
  if (!rounds_) rounds_ = std::make_unique<Rounds>(node_, scope_->rules());
  return *rounds_;
}

py::object Life::take_result() {
  if (!current_) return py::none();
  const std::unique_ptr<Awaited> over = current_.get().cast<OperationObject&>().take();
  current_ = Kept();
  return over->result(*scope_);
}

/// Raises in the generator at its `yield`, so that the traceback shows the line.
void Life::refuse(PyObject* type, const std::string& text) {
  {
    const Scope::Turn turn(*scope_, *this);
    py::object error = py::reinterpret_borrow<py::object>(type)(text);
    const auto ignored = py::reinterpret_steal<py::object>(PyObject_CallMethod(generator_.get().ptr(), "throw", "O", error.ptr()));
    if (!ignored) throw py::error_already_set();
  }
  throw py::type_error("the generator of " + node_.name() + " goes on after an error that it must not catch");
}

Awaited& Life::next() {
  const Gil gil;
  scope_->clean_up();
  const py::object sent = take_result();
  PyObject* yielded = nullptr;
  PySendResult what;
  {
    const Scope::Turn turn(*scope_, *this);
    what = PyIter_Send(generator_.get().ptr(), sent.ptr(), &yielded);
  }
  if (what == PYGEN_ERROR) throw py::error_already_set();
  py::object next = py::reinterpret_steal<py::object>(yielded);
  if (what == PYGEN_RETURN)
    throw std::runtime_error("the generator of " + node_.name() +
                             " has returned, but a process goes on until the run stops; write `while True:` around its work");
  if (reinterpret_cast<PyObject*>(Py_TYPE(yielded)) != operation_type.ptr())
    refuse(PyExc_TypeError, node_.name() + " yields " + shown(next) +
                                ", which is no operation; yield what node.gradient, node.send, node.receive and the like return");
  if (forgotten_)
    refuse(PyExc_TypeError, node_.name() +
                                " has made an operation before this line and not yielded it, so that nothing came of it; write `yield` "
                                "before it, or node.post to send and go on at once");
  try {
    Awaited& awaited = next.cast<OperationObject&>().wait(*this);
    current_ = Kept(std::move(next));
    return awaited;
  } catch (const std::runtime_error& error) {
    refuse(PyExc_RuntimeError, error.what());
  }
}

std::unique_ptr<OperationObject> first_of_two(const py::object& a, const py::object& b, bool keeps_first) {
  auto& first = argument<OperationObject>(a, "first_of: its first argument", "an operation");
  auto& second = argument<OperationObject>(b, "first_of: its second argument", "an operation");
  Life* const life = first.life();
  if (!life || !life->has_turn() || &first == &second)
    throw std::runtime_error("first_of takes two operations of this node that are not over");
  Awaited& one = first.awaited(*life);
  if (!one.operation() || !second.awaited(*life).operation())
    throw std::invalid_argument("first_of takes two operations; neither may be a gather, nor another first_of");
  if (keeps_first != first.begun())
    throw std::invalid_argument(keeps_first ? "the first operation of first_of_in_flight has begun; write node.begin around it"
                                            : "the first operation has begun, and would be given up; write first_of_in_flight");
  if (second.begun()) throw std::invalid_argument("the second operation has begun; only the first one may, in first_of_in_flight");
  std::unique_ptr<Awaited> what;
  if (keeps_first)
    what = std::make_unique<AwaitedFirst>(a, first, second.take());
  else
    what = std::make_unique<AwaitedFirst>(first.take(), second.take());
  return std::make_unique<OperationObject>(*life, std::move(what));
}

Process drive(Node& node, std::shared_ptr<Scope> scope, Life::Role role) {
  Life life(node, std::move(scope), role);
  for (;;) {
    Awaited& awaited = life.next();
    if (Subroutine* const subroutine = awaited.subroutine()) {
      std::unique_ptr<SubroutineValue> outcome = co_await std::move(*subroutine);
      awaited.subroutine_over(std::move(outcome));
    } else {
      co_await Next(awaited);
    }
  }
}

void define_operations(py::module_& module) {
  operation_type = py::class_<OperationObject>(module, "Operation", "What a generator yields to wait for it. Awaited once.").release();
  module.def(
      "first_of", [](const py::object& a, const py::object& b) { return first_of_two(a, b, false); }, py::arg("a"), py::arg("b"),
      "Waits for whichever of two operations is first, and gives up the other: (0, result of a) or (1, result of b). The second "
      "one wins ties: put what interrupts there.");
  module.def(
      "first_of_in_flight", [](const py::object& a, const py::object& b) { return first_of_two(a, b, true); }, py::arg("begun"),
      py::arg("b"), "The same, where the first one has begun (node.begin) and stays in flight if it loses.");
}

}  // namespace straggler::python
