#include "python/module/python_model.hpp"

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "models/kernels/kernels.hpp"
#include "python/module/calls.hpp"

namespace straggler::python {

namespace {

std::string shape_words(const std::vector<std::size_t>& shape) {
  std::string text;
  for (const std::size_t side : shape) text += (text.empty() ? "" : ", ") + std::to_string(side);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

std::vector<std::size_t> shape_of(const py::array& array) {
  std::vector<std::size_t> shape;
  for (py::ssize_t side = 0; side < array.ndim(); ++side) shape.push_back(static_cast<std::size_t>(array.shape(side)));
  return shape;
}

/// A numpy array that is used again while nobody else refers to it, or to a view of it. All calls need the lock.
template <class T>
class Lent {
 public:
  /// An array of that shape, whose numbers are to be written. 64-byte aligned, so that a framework always rounds alike.
  T* room(const std::vector<std::size_t>& shape) {
    if (!array_ || Py_REFCNT(array_.ptr()) != 1 || shape != shape_) make(shape);
    return numbers_;
  }
  const py::object& array() const { return array_; }

 private:
  void make(const std::vector<std::size_t>& shape) {
    constexpr std::size_t alignment = 64;
    std::size_t bytes = sizeof(T);
    for (const std::size_t side : shape) bytes *= side;
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (!memory) throw std::bad_alloc();
    const py::capsule owner(memory, [](void* at) { std::free(at); });
    array_ = py::array(py::dtype::of<T>(), std::vector<py::ssize_t>(shape.begin(), shape.end()), memory, owner);
    numbers_ = static_cast<T*>(memory);
    shape_ = shape;
  }
  py::object array_;
  T* numbers_ = nullptr;
  std::vector<std::size_t> shape_;
};

/// What Python is lent of one call after the other, and a sample of what it answered.
struct Room {
  std::vector<py::str> names;
  std::vector<Lent<float>> weights;  // by tensor
  Lent<float> numbers;               // inputs
  Lent<std::int64_t> whole, labels;
};

struct RoomWorkspace final : Workspace {
  explicit RoomWorkspace(std::unique_ptr<Room> made) : room(std::move(made)) {}
  ~RoomWorkspace() override {
    if (Py_IsInitialized()) {
      const Gil gil;
      room.reset();
    }
    static_cast<void>(room.release());  // after the interpreter's end nothing of Python's can be dropped
  }
  std::unique_ptr<Room> room;

  // One question, to be asked again later.
  std::uint64_t asked = 0;
  std::vector<float> weights, inputs, answer;
  std::vector<std::int32_t> labels;
};

/// The questions that are asked again: the first ones, and then one of a thousand.
bool is_sample(std::uint64_t number) { return number < 1024 ? std::has_single_bit(number) : number % 1024 == 0; }

class PythonModel final : public Model {
 public:
  PythonModel(std::shared_ptr<ModelSource> source, std::shared_ptr<const Start> start, const DataInfo& data, const Kernels& kernels,
              ModelFacts facts)
      : source_(std::move(source)),
        start_(std::move(start)),
        kernels_(kernels),
        features_(data.features),
        places_(data.places()),
        symbols_(data.symbols > 0),
        whole_(data.symbols > 0 || data.whole),
        shape_(data.shape.empty() || data.symbols > 0 ? std::vector<std::size_t>{data.features} : data.shape),
        facts_(std::move(facts)) {
    all_ = start_->tensors;
    all_.insert(all_.end(), start_->statistics.begin(), start_->statistics.end());
  }

  std::size_t parameters() const override { return start_->parameters; }
  std::vector<TensorInfo> tensors() const override { return start_->tensors; }
  std::size_t statistics() const override { return start_->values.size() - start_->parameters; }
  std::vector<TensorInfo> buffers() const override { return start_->statistics; }
  std::vector<LayerCost> cost() const override { return facts_.costs; }
  std::vector<std::string> assumed() const override { return facts_.assumed; }
  /// What is lent, and the question that is asked again, with two answers.
  std::size_t workspace_bytes(std::size_t rows) const override {
    return 2 * (rows * (features_ * sizeof(float) + places_ * sizeof(std::int64_t)) + 2 * length() * sizeof(float));
  }
  std::unique_ptr<Workspace> workspace() const override {
    std::unique_ptr<Workspace> made;
    source_->call([&] {
      auto room = std::make_unique<Room>();
      for (const TensorInfo& tensor : all_) room->names.emplace_back(tensor.name);
      room->weights.resize(all_.size());
      made = std::make_unique<RoomWorkspace>(std::move(room));
    });
    return made;
  }
  void initialize(std::uint64_t seed, float* weights) const override {
    const std::shared_ptr<const Start> start = source_->start(seed);
    std::copy(start->values.begin(), start->values.end(), weights);
  }
  std::string_view engine() const override { return facts_.engine; }
  bool one_thread() const override { return true; }
  /// A batch is one call, of any size.
  bool couples_samples() const override { return true; }

  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override {
    RoomWorkspace& own = static_cast<RoomWorkspace&>(workspace);
    // The mean's part of the sum; that of one batch is 1, but for the rounding of its scale.
    const double part = static_cast<double>(rows.scale[0]) * static_cast<double>(rows.count);
    const float factor = std::abs(part - 1) < 1e-6 ? 1.0f : static_cast<float>(part);
    double loss = 0;
    source_->call([&] {
      const bool sample = is_sample(++own.asked);
      if (sample && own.asked > 1) ask_again(own);
      if (!sample && factor == 1.0f && !accumulate) {
        loss = ask(*own.room, weights, rows, gradient);
        return;
      }
      std::vector<float> answer(length());
      loss = ask(*own.room, weights, rows, answer.data());
      if (sample) keep(own, weights, rows, answer);
      if (own.asked == 1) ask_again(own);
      const float* const terms[] = {answer.data(), gradient};
      const float factors[] = {factor, 1.0f};
      kernels_.weighted_sum(length(), accumulate ? 2 : 1, terms, factors, gradient);
    });
    return loss * part;
  }

  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override {
    RoomWorkspace& own = static_cast<RoomWorkspace&>(workspace);
    double loss = 0;
    source_->call([&] {
      Room& room = *own.room;
      const py::object made = source_->evaluate(lend_weights(room, weights), lend_inputs(room, rows), lend_labels(room, rows));
      const auto [sum, right] = pair_of(made, "evaluate", "(sum of losses, number right)");
      loss = number_of(sum, "evaluate", "sum of losses");
      refuse_no_loss(loss, weights, "evaluate");
      const double count = number_of(right, "evaluate", "number right"), most = static_cast<double>(rows.count * places_);
      if (!(count >= 0 && count <= most) || count != std::floor(count))
        source_->refuse(
            fmt::format("evaluate returns {} of {:g} labels as right; return (sum of losses, number right)", shown(right), most));
      correct += static_cast<std::uint64_t>(count);
    });
    return loss;
  }

 private:
  py::object lend_weights(Room& room, const float* weights) const {
    py::dict lent;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      std::memcpy(room.weights[i].room(all_[i].shape), weights + all_[i].offset, all_[i].numbers() * sizeof(float));
      if (PyDict_SetItem(lent.ptr(), room.names[i].ptr(), room.weights[i].array().ptr()) != 0) throw py::error_already_set();
    }
    return lent;
  }
  py::object lend_inputs(Room& room, const Rows& rows) const {
    std::vector<std::size_t> shape{rows.count};
    shape.insert(shape.end(), shape_.begin(), shape_.end());
    const std::size_t count = rows.count * features_;
    if (!whole_) {
      std::memcpy(room.numbers.room(shape), rows.inputs, count * sizeof(float));
      return room.numbers.array();
    }
    std::int64_t* const to = room.whole.room(shape);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<std::int64_t>(rows.inputs[i]);
    return room.whole.array();
  }
  py::object lend_labels(Room& room, const Rows& rows) const {
    std::vector<std::size_t> shape{rows.count};
    if (symbols_) shape.push_back(places_);
    std::copy_n(rows.labels, rows.count * places_, room.labels.room(shape));
    return room.labels.array();
  }

  std::pair<py::object, py::object> pair_of(const py::object& made, const char* function, const char* wanted) const {
    if ((PyTuple_Check(made.ptr()) || PyList_Check(made.ptr())) && py::len(made) == 2) {
      const py::sequence both = made;
      return {both[0], both[1]};
    }
    source_->refuse(fmt::format("{} returns {}; return {}", function, shown(made), wanted));
  }
  double number_of(const py::object& what, const char* function, const char* wanted) const {
    const double number = PyUnicode_Check(what.ptr()) ? -1 : PyFloat_AsDouble(what.ptr());
    if (!PyErr_Occurred() && !PyUnicode_Check(what.ptr())) return number;
    PyErr_Clear();
    source_->refuse(fmt::format("{} returns {} as its {}; return a number", function, shown(what), wanted));
  }

  /// A loss grows beyond all bounds in training, and not before it.
  void refuse_no_loss(double loss, const float* weights, const char* function) const {
    if (std::isfinite(loss) || std::memcmp(weights, start_->values.data(), length() * sizeof(float)) != 0) return;
    source_->refuse(fmt::format("{} gives a loss of {} at the initial weights; its data or code compute no finite loss", function, loss));
  }

  /// The loss; the mean's gradient to `out`.
  double ask(Room& room, const float* weights, const Rows& rows, float* out) const {
    const py::object made = source_->gradient(lend_weights(room, weights), lend_inputs(room, rows), lend_labels(room, rows));
    const auto [loss, all] = pair_of(made, "gradient", "(loss, {name: array})");
    if (!PyDict_Check(all.ptr()))
      source_->refuse(fmt::format("gradient returns {} beside its loss; return (loss, {{name: array}})", shown(all)));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      PyObject* const found = PyDict_GetItemWithError(all.ptr(), room.names[i].ptr());
      if (!found) {
        if (PyErr_Occurred()) throw py::error_already_set();
        source_->refuse(fmt::format("gradient returns none of the tensor '{}'; return one for each of `initial`", all_[i].name));
      }
      take(all_[i], py::reinterpret_borrow<py::object>(found), out + all_[i].offset);
    }
    if (static_cast<std::size_t>(PyDict_Size(all.ptr())) != all_.size()) refuse_stranger(all);
    const double number = number_of(loss, "gradient", "loss");
    refuse_no_loss(number, weights, "gradient");
    return number;
  }
  [[noreturn]] void refuse_stranger(const py::object& all) const {
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(all)) {
      const std::string name = py::str(key);
      if (std::none_of(all_.begin(), all_.end(), [&](const TensorInfo& tensor) { return tensor.name == name; }))
        source_->refuse(fmt::format("gradient returns one of the tensor '{}', which `initial` lacks; leave it out", name));
    }
    source_->refuse("gradient returns two of one tensor; return one for each of `initial`");
  }

  void take(const TensorInfo& tensor, const py::object& made, float* out) const {
    py::array array = py::isinstance<py::array>(made) ? py::reinterpret_borrow<py::array>(made) : py::array::ensure(made);
    const auto is = [&](const std::string& what, const std::string& remedy) {
      source_->refuse(fmt::format("the gradient of the tensor '{}' {}; {}", tensor.name, what, remedy));
    };
    if (!array) is("is " + shown(made), "return an array");
    if (!py::isinstance<py::array_t<float>>(array))
      is("has dtype " + py::str(array.dtype()).cast<std::string>(), "return float32, as `initial` has it");
    if (const std::vector<std::size_t> shape = shape_of(array); shape != tensor.shape)
      is("has shape " + shape_words(shape), "return " + shape_words(tensor.shape) + ", as `initial` has it");
    if (!(array.flags() & py::array::c_style)) array = py::array_t<float, py::array::c_style>::ensure(array);
    if (!array) throw py::error_already_set();
    const auto* const numbers = static_cast<const float*>(array.data());
    const std::size_t count = tensor.numbers();
    std::memcpy(out, numbers, count * sizeof(float));
    if (std::isfinite(kernels_.squared_norm(count, out))) return;
    const float* const nan = std::find_if(out, out + count, [](float each) { return std::isnan(each); });
    if (nan != out + count)
      is(fmt::format("has a NaN (number {} of {})", nan - out, count), "if the loss has grown without bound, give a smaller learning rate");
  }

  void keep(RoomWorkspace& own, const float* weights, const Rows& rows, const std::vector<float>& answer) const {
    own.weights.assign(weights, weights + length());
    own.inputs.assign(rows.inputs, rows.inputs + rows.count * features_);
    own.labels.assign(rows.labels, rows.labels + rows.count * places_);
    own.answer = answer;
  }
  /// Asks the kept question again: a model that caches by arguments answers it from its cache.
  void ask_again(RoomWorkspace& own) const {
    Rows rows;
    rows.count = own.labels.size() / places_;
    rows.inputs = own.inputs.data();
    rows.labels = own.labels.data();
    std::vector<float> answer(length());
    ask(*own.room, own.weights.data(), rows, answer.data());
    for (const TensorInfo& tensor : all_) {
      const float *const then = own.answer.data() + tensor.offset, *const now = answer.data() + tensor.offset;
      const std::size_t count = tensor.numbers();
      if (std::memcmp(then, now, count * sizeof(float)) == 0) continue;
      std::size_t at = 0;
      while (std::memcmp(then + at, now + at, sizeof(float)) == 0) ++at;
      source_->refuse(
          fmt::format("the gradient of the tensor '{}', asked twice at the same weights and samples, differs (number {}: {} and then {}); "
                      "keep state in `initial`, and let a framework compute the same bits each time",
                      tensor.name, at, then[at], now[at]));
    }
  }

  const std::shared_ptr<ModelSource> source_;
  const std::shared_ptr<const Start> start_;
  const Kernels& kernels_;
  const std::size_t features_, places_;
  const bool symbols_, whole_;
  const std::vector<std::size_t> shape_;  // of a sample's inputs
  const ModelFacts facts_;
  std::vector<TensorInfo> all_;  // parameters, then statistics
};

/// [(name, array of float32, whether it is a running statistic)]
std::shared_ptr<const Start> start_of(const py::list& given) {
  auto start = std::make_shared<Start>();
  Hasher hasher;
  for (const bool statistics : {false, true}) {
    for (const py::handle each : given) {
      const auto row = py::reinterpret_borrow<py::tuple>(each);
      if (row[2].cast<bool>() != statistics) continue;
      const auto array = row[1].cast<py::array_t<float, py::array::c_style>>();
      TensorInfo tensor{row[0].cast<std::string>(), shape_of(array), start->values.size()};
      hasher.add(std::string_view(tensor.name)).add(std::uint64_t{statistics});
      for (const std::size_t side : tensor.shape) hasher.add(std::uint64_t{side});
      start->values.insert(start->values.end(), array.data(), array.data() + array.size());
      (statistics ? start->statistics : start->tensors).push_back(std::move(tensor));
    }
    if (!statistics) start->parameters = start->values.size();
  }
  start->key = hasher.add_bytes(start->values.data(), start->values.size() * sizeof(float)).key();
  return start;
}

bool alike(const std::vector<TensorInfo>& a, const std::vector<TensorInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorInfo& one, const TensorInfo& other) { return one.name == other.name && one.shape == other.shape; });
}

}  // namespace

ModelSource::ModelSource(const py::dict& given, Errands& errands)
    : errands_(errands),
      name_(given["name"].cast<std::string>()),
      version_(given["version"].cast<std::string>()),
      gradient_(py::object(given["model"].attr("gradient"))),
      evaluate_(py::object(given["model"].attr("evaluate"))),
      initial_(py::object(given["initial"])) {}

void ModelSource::refuse(const std::string& what) const {
  const std::string text = title() + ": " + what;
  PyErr_SetString(py::module_::import("straggler._errors").attr("ModelError").ptr(), text.c_str());
  throw py::error_already_set();
}

std::shared_ptr<const Start> ModelSource::ask(std::uint64_t seed) {
  std::shared_ptr<const Start> start;
  call([&] {
    start = start_of(initial_.get()(seed));
    if (!starts_.empty() &&
        !(alike(start->tensors, starts_.begin()->second->tensors) && alike(start->statistics, starts_.begin()->second->statistics)))
      refuse(fmt::format("initial({}) gives other tensors than initial({}); give the same names and shapes for each seed", seed,
                         starts_.begin()->first));
  });
  return start;
}

std::shared_ptr<const Start> ModelSource::start(std::uint64_t seed) {
  constexpr std::size_t most_kept = 8;
  const std::lock_guard lock(mutex_);
  if (const auto known = starts_.find(seed); known != starts_.end()) return known->second;
  const std::shared_ptr<const Start> start = ask(seed);
  if (starts_.size() == most_kept) starts_.erase(starts_.begin());
  starts_[seed] = start;
  return start;
}

std::unique_ptr<Model> make_python_model(std::shared_ptr<ModelSource> source, std::shared_ptr<const Start> start, const DataInfo& data,
                                         const Kernels& kernels, ModelFacts facts) {
  return std::make_unique<PythonModel>(std::move(source), std::move(start), data, kernels, std::move(facts));
}

}  // namespace straggler::python
