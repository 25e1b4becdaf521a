#include "python/module/operations.hpp"

#include <stdexcept>
#include <string>

namespace straggler::python {

namespace {

py::handle operation_type;

const char* role_method(Life::Role role) {
  return role == Life::Role::worker ? "worker" : role == Life::Role::server ? "server" : "aggregator";
}

/// The first of two operations to end. Owns the second one, and the first one unless it stays in flight.
class AwaitedFirst final : public Awaited, private FirstOfTwo {
 public:
  AwaitedFirst(Kept in_flight, std::unique_ptr<Awaited> own, Awaited& a, std::unique_ptr<Awaited> b)
      : in_flight_(std::move(in_flight)), own_(std::move(own)), a_(a), b_(std::move(b)) {}
  bool await_suspend(std::coroutine_handle<> waiter) override { return FirstOfTwo::await_suspend(waiter); }
  py::object result(Scope& scope) override {
    if (second_has_won()) return py::make_tuple(1, b_->result(scope));
    py::object first = a_.result(scope);
    if (in_flight_) in_flight_.get().cast<OperationObject&>().take();  // it has ended
    return py::make_tuple(0, std::move(first));
  }

 private:
  Operation& first() override { return *a_.operation(); }
  Operation& second() override { return *b_->operation(); }
  bool keeps_first() const override { return static_cast<bool>(in_flight_); }
  Kept in_flight_;
  std::unique_ptr<Awaited> own_;
  Awaited& a_;
  std::unique_ptr<Awaited> b_;
};

/// Throws the generator's exception. A wrong argument of a node's method is told in one line; pybind11 lists signatures.
[[noreturn]] void rethrow_of_python() {
  py::error_already_set error;
  if (error.matches(PyExc_TypeError)) {
    const std::string text = py::str(error.value());
    if (text.find("(): incompatible function arguments") != std::string::npos)
      error.value().attr("args") = py::make_tuple(py::module_::import("straggler._errors").attr("of_call")(text));
  }
  throw error;
}

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
  return *what_;
}

std::unique_ptr<Awaited> OperationObject::take() {
  unlink();
  life_ = nullptr;
  return std::move(what_);
}

void OperationObject::begin() {
  if (!life_) throw std::runtime_error("this operation is over");
  if (!may_begin_)
    throw std::invalid_argument(
        "this operation cannot be in flight; gradients, sends, timers, collectives and receives from a given rank can");
  begun_ = true;
  awaited(*life_).operation()->begin();
}

void OperationObject::drop() { take().reset(); }

Life& NodeObject::life() const {
  if (!life_) throw std::runtime_error("this node's life is over: its worker has crashed or left, or the run has ended");
  if (!life_->scope().is_here()) throw std::runtime_error("a node is for its own generator, on the thread of the run");
  return *life_;
}

Life::Life(Node& node, std::shared_ptr<Scope> scope, Role role) : node_(node), scope_(std::move(scope)) {
  const Gil gil;
  scope_->clean_up();
  object_ = Kept(py::cast(std::make_unique<NodeObject>(*this)));
  const char* const method = role_method(role);
  try {
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

py::object Life::take_result() {
  if (!current_) return py::none();
  const std::unique_ptr<Awaited> over = current_.get().cast<OperationObject&>().take();
  current_ = Kept();
  return over->result(*scope_);
}

/// Raises in the generator at its `yield`, so that the traceback shows the line.
void Life::refuse(const std::string& text) {
  py::object error = py::reinterpret_borrow<py::object>(PyExc_TypeError)(text);
  const auto ignored = py::reinterpret_steal<py::object>(PyObject_CallMethod(generator_.get().ptr(), "throw", "O", error.ptr()));
  if (!ignored) throw py::error_already_set();
  throw py::type_error("the generator of " + node_.name() + " goes on after an error that it must not catch");
}

Awaited& Life::next() {
  const Gil gil;
  scope_->clean_up();
  const py::object sent = take_result();
  PyObject* yielded = nullptr;
  const PySendResult what = PyIter_Send(generator_.get().ptr(), sent.ptr(), &yielded);
  if (what == PYGEN_ERROR) rethrow_of_python();
  py::object next = py::reinterpret_steal<py::object>(yielded);
  if (what == PYGEN_RETURN)
    throw std::runtime_error("the generator of " + node_.name() +
                             " has returned, but a process goes on until the run stops; write `while True:` around its work");
  if (reinterpret_cast<PyObject*>(Py_TYPE(yielded)) != operation_type.ptr())
    refuse(node_.name() + " yields " + std::string(py::repr(next)).substr(0, 80) +
           ", which is no operation; yield what node.gradient, node.send, node.receive and the like return");
  if (forgotten_)
    refuse(node_.name() +
           " has made an operation before this line and not yielded it, so that nothing came of it; write `yield` before it, "
           "or node.post to send and go on at once");
  Awaited& awaited = next.cast<OperationObject&>().awaited(*this);
  current_ = Kept(std::move(next));
  return awaited;
}

std::unique_ptr<OperationObject> first_of_two(const py::object& a, const py::object& b, bool keeps_first) {
  auto &first = a.cast<OperationObject&>(), &second = b.cast<OperationObject&>();
  Life* const life = first.life();
  if (!life || !life->scope().is_here() || &first == &second)
    throw std::runtime_error("first_of takes two operations of this node that are not over");
  Awaited& one = first.awaited(*life);
  if (!one.operation() || !second.awaited(*life).operation())
    throw std::invalid_argument("first_of takes two operations; neither may be a gather, nor another first_of");
  if (keeps_first != first.begun())
    throw std::invalid_argument(keeps_first ? "the first operation of first_of_in_flight has begun; write node.begin around it"
                                            : "the first operation has begun, and would be given up; write first_of_in_flight");
  if (second.begun()) throw std::invalid_argument("the second operation has begun; only the first one may, in first_of_in_flight");
  Kept in_flight = keeps_first ? Kept(a) : Kept();
  std::unique_ptr<Awaited> own = keeps_first ? nullptr : first.take();
  return std::make_unique<OperationObject>(*life, std::make_unique<AwaitedFirst>(std::move(in_flight), std::move(own), one, second.take()));
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
