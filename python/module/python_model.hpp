// A model whose gradients come from Python.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "models/zoo/model.hpp"
#include "models/zoo/network.hpp"
#include "python/module/errands.hpp"
#include "python/module/gil.hpp"
#include "sim/base/key.hpp"

namespace straggler::python {

/// What `initial(seed)` gives.
struct Start {
  std::vector<TensorInfo> tensors;     // parameters
  std::vector<TensorInfo> statistics;  // running statistics; they follow the parameters
  std::vector<float> values;
  Key key;  // of all of it
  std::size_t parameters = 0;
};

/// The author's object. Its functions are called where the errands are run.
class ModelSource {
 public:
  /// `given`: straggler._models.Given. With the lock held.
  ModelSource(const py::dict& given, Errands& errands);
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  std::string title() const { return "the model '" + name_ + "', version " + version_; }
  /// Thread-safe. Asks Python once for a seed, while the last seeds are kept.
  std::shared_ptr<const Start> start(std::uint64_t seed);

  void call(const std::function<void()>& what) { errands_.call(what); }
  // With the lock held.
  py::object gradient(const py::object& weights, const py::object& inputs, const py::object& labels) const {
    return gradient_.get()(weights, inputs, labels);
  }
  py::object evaluate(const py::object& weights, const py::object& inputs, const py::object& labels) const {
    return evaluate_.get()(weights, inputs, labels);
  }
  /// Raises straggler.ModelError.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::shared_ptr<const Start> ask(std::uint64_t seed);

  Errands& errands_;
  const std::string name_, version_;
  const Kept gradient_, evaluate_, initial_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const Start>> starts_;
};

/// What a scenario says of a model is not all.
struct ModelFacts {
  std::vector<LayerCost> costs;      // of its layers, whose tensors are those of the start in order
  std::vector<std::string> assumed;  // Model::assumed
  std::string engine;                // Model::engine: says which model it is
};
std::unique_ptr<Model> make_python_model(std::shared_ptr<ModelSource> source, std::shared_ptr<const Start> start, const DataInfo& data,
                                         const Kernels& kernels, ModelFacts facts);

}  // namespace straggler::python
