#include "python/module/models.hpp"

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "models/data/arrays.hpp"
#include "python/module/calls.hpp"
#include "python/module/python_model.hpp"
#include "sim/base/flow_reader.hpp"
#include "sim/base/registry.hpp"

namespace straggler::python {

namespace {

/// Whether the tensor is of the module of that name.
bool is_of(const std::string& tensor, const std::string& module) {
  return tensor == module || (tensor.size() > module.size() && tensor.starts_with(module) && tensor[module.size()] == '.');
}

/// The row of each tensor: by order if both have one, else by names. Throws std::invalid_argument.
std::vector<std::size_t> rows_of(const std::vector<LayerCost>& costs, const std::vector<TensorInfo>& tensors) {
  std::vector<std::size_t> rows;
  bool in_order = true;
  for (std::size_t row = 0; row < costs.size() && in_order; ++row) {
    std::size_t count = 0;
    while (count < costs[row].parameters && rows.size() < tensors.size()) {
      count += tensors[rows.size()].numbers();
      rows.push_back(row);
    }
    in_order = count == costs[row].parameters;
  }
  if (in_order && rows.size() == tensors.size()) return rows;
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  rows.assign(tensors.size(), none);
  std::vector<std::size_t> missing;  // numbers
  for (const LayerCost& layer : costs) missing.push_back(layer.parameters);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (std::size_t row = 0; row < costs.size(); ++row) {
      const bool nearer = rows[t] == none || costs[row].name.size() > costs[rows[t]].name.size();
      if (costs[row].parameters > 0 && nearer && is_of(tensors[t].name, costs[row].name)) rows[t] = row;
    }
    if (rows[t] == none) continue;
    if (tensors[t].numbers() > missing[rows[t]])
      rows[t] = none;
    else
      missing[rows[t]] -= tensors[t].numbers();
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) {  // those of another name, as positions that an embedding adds
    if (rows[t] != none) continue;
    const auto open = std::ranges::find(missing, tensors[t].numbers());
    if (open == missing.end())
      throw std::invalid_argument(fmt::format(
          "its `layers` have no parameters for the tensor '{}' of `initial`; list all layers, or leave `layers` out", tensors[t].name));
    *open = 0;
    rows[t] = static_cast<std::size_t>(open - missing.begin());
  }
  for (std::size_t row = 0; row < costs.size(); ++row)
    if (missing[row] > 0)
      throw std::invalid_argument(
          fmt::format("its `layers` have {} parameters in '{}', and the tensors of `initial` do not add up to them; "
                      "give the layers of this model, or leave `layers` out",
                      costs[row].parameters, costs[row].name));
  return rows;
}

/// Rows of costs by the layers that the author lists, in the order of the tensors, which is that of messages. Throws std::invalid_argument.
std::vector<LayerCost> listed_costs(const std::string& layers, const DataInfo& data, const std::vector<TensorInfo>& tensors) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("layers");
  const std::vector<LayerCost> costs = cost_of(entry.network(complete(entry.parameters, {{"layers", read_flow(layers)}}), data));
  const std::vector<std::size_t> rows = rows_of(costs, tensors);
  std::vector<LayerCost> made;
  std::vector<std::size_t> parts(costs.size(), 0);
  const auto add = [&](std::size_t row) {  // its next part; the first has what the layer computes
    const LayerCost& layer = costs[row];
    made.push_back(parts[row]++ == 0 ? LayerCost{layer.name, 0, layer.forward_flops, layer.activation_bytes, layer.operations}
                                     : LayerCost{fmt::format("{} {}", layer.name, parts[row]), 0, 0, 0, 0});
  };
  const auto add_without_tensors = [&](std::size_t from) {
    for (std::size_t row = from; row < costs.size() && costs[row].parameters == 0; ++row) add(row);
  };
  add_without_tensors(0);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const bool first = t == 0 || rows[t] != rows[t - 1];
    if (first) add(rows[t]);
    made.back().parameters += tensors[t].numbers();
    if ((t + 1 == tensors.size() || rows[t + 1] != rows[t]) && parts[rows[t]] == 1) add_without_tensors(rows[t] + 1);
  }
  return made;
}

/// One row for tensors that follow each other and are of one module by their names: "conv.weight", "conv.bias".
std::vector<LayerCost> assumed_costs(const std::vector<TensorInfo>& tensors) {
  std::vector<LayerCost> costs;
  std::map<std::string, std::size_t> times;
  for (const TensorInfo& tensor : tensors) {
    const std::size_t dot = tensor.name.rfind('.');
    std::string name = tensor.name.substr(0, dot);
    if (costs.empty() || costs.back().name != name || dot == std::string::npos) {
      if (const std::size_t earlier = times[name]++; earlier > 0) name += fmt::format(" {}", earlier + 1);
      costs.push_back({name, 0, 0, 0});
    }
    costs.back().parameters += tensor.numbers();
    costs.back().forward_flops += 2 * static_cast<double>(tensor.numbers());
  }
  return costs;
}

GivenModel model_of(const py::dict& given, Errands& errands, bool for_all) {
  const auto source = std::make_shared<ModelSource>(given, errands);
  const auto layers = given["layers"].is_none() ? std::string() : given["layers"].cast<std::string>();
  GivenModel model;
  model.name = source->name();
  model.version = source->version();
  const auto content = [source, layers, code = given["source"].cast<std::string>()](std::uint64_t seed) {
    return Hasher().add(std::string_view(code)).add(std::string_view(layers)).add(source->start(seed)->key).key();
  };
  model.content = content;
  model.make = [source, layers, content](const DataInfo& data, const ModelSetting& setting) {
    const std::shared_ptr<const Start> start = source->start(setting.seed);
    ModelFacts facts{layers.empty() ? assumed_costs(start->tensors) : listed_costs(layers, data, start->tensors), {}, {}};
    facts.engine = "python " + content(setting.seed).text();
    if (layers.empty())
      facts.assumed.push_back(
          fmt::format("the FLOPs of {} are not known: 2 for each parameter and sample are assumed; give it `layers`, or the "
                      "scenario a workload.cost",
                      source->title()));
    return make_python_model(source, start, data, setting.kernels, std::move(facts));
  };
  model.object = given["model"].ptr();
  model.for_all = for_all;
  return model;
}

/// Arrays of samples, which scenarios of this process can name.
struct ArraysObject {
  std::shared_ptr<const Dataset> data;
  std::string content;
};

using Floats = py::array_t<float, py::array::c_style>;
using Bytes = py::array_t<std::uint8_t, py::array::c_style>;
using Labels = py::array_t<std::int32_t, py::array::c_style>;

DataSplit split_of(const py::array& inputs, const Labels& labels, const std::vector<std::size_t>& shape, std::size_t features) {
  DataSplit split;
  const auto count = static_cast<std::size_t>(labels.size());
  if (py::isinstance<Bytes>(inputs)) {
    PixelMap as_it_is;
    for (int i = 0; i < 256; ++i) as_it_is.values[i] = static_cast<float>(i);
    const std::size_t channels = shape.size() == 3 ? shape[0] : 1;
    const auto* const from = static_cast<const std::uint8_t*>(inputs.data());
    split.inputs = SampleInputs(SampleBytes(from, from + count * features), 0, features / channels,
                                std::make_shared<const std::vector<PixelMap>>(channels, as_it_is));
  } else {
    const auto* const from = static_cast<const float*>(inputs.data());
    split.inputs = SampleInputs(SampleFloats(from, from + count * features), features);
  }
  split.labels.assign(labels.data(), labels.data() + count);
  return split;
}

/// Of checked arrays (straggler._models.Arrays): inputs [count][shape] of float32 or uint8, labels [count] of int32 below `classes`.
ArraysObject arrays_of(const py::array& train_x, const Labels& train_y, const py::array& test_x, const Labels& test_y, std::size_t classes,
                       bool whole) {
  const auto fits = [&](const py::array& inputs, const Labels& labels) {
    const bool type = py::isinstance<Bytes>(inputs) || py::isinstance<Floats>(inputs);
    if (!type || inputs.ndim() < 2 || labels.ndim() != 1 || inputs.shape(0) != labels.size() || inputs.size() == 0)
      throw std::invalid_argument("arrays that straggler.Arrays has not checked; make them by it");
  };
  fits(train_x, train_y);
  fits(test_x, test_y);
  auto data = std::make_shared<Dataset>();
  DataInfo& info = data->info;
  for (py::ssize_t side = 1; side < train_x.ndim(); ++side) info.shape.push_back(static_cast<std::size_t>(train_x.shape(side)));
  info.features = static_cast<std::size_t>(train_x.size() / train_x.shape(0));
  if (static_cast<std::size_t>(test_x.size() / test_x.shape(0)) != info.features)
    throw std::invalid_argument("arrays of samples of two sizes; make them by straggler.Arrays");
  info.classes = classes;
  info.whole = whole;
  info.train = static_cast<std::size_t>(train_y.size());
  info.test = static_cast<std::size_t>(test_y.size());
  if (py::isinstance<Bytes>(train_x) != py::isinstance<Bytes>(test_x))
    throw std::invalid_argument("arrays of two types; make them by straggler.Arrays");
  if (py::isinstance<Bytes>(train_x)) info.number_bytes = 1;
  info.origin = "arrays in Python";
  data->train = split_of(train_x, train_y, info.shape, info.features);
  data->test = split_of(test_x, test_y, info.shape, info.features);
  return {data, content_of_arrays(*data)};
}

/// Samples as a model gets them: (inputs, labels).
py::tuple first_samples(const ArraysObject& self, std::size_t count) {
  const DataInfo& info = self.data->info;
  if (count == 0 || count > info.train)
    throw std::invalid_argument(
        fmt::format("there are {} training samples, and {} are asked for; ask for at most as many", info.train, count));
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(count)};
  shape.insert(shape.end(), info.shape.begin(), info.shape.end());
  py::array_t<float> inputs(shape);
  py::array_t<std::int64_t> labels(static_cast<py::ssize_t>(count));
  for (std::size_t sample = 0; sample < count; ++sample) {
    self.data->train.inputs.copy(sample, inputs.mutable_data() + sample * info.features);
    labels.mutable_data()[sample] = self.data->train.labels[sample];
  }
  return py::make_tuple(info.whole ? py::object(inputs.attr("astype")("int64")) : py::object(inputs), labels);
}

}  // namespace

GivenInUse::GivenInUse(const py::dict& how, Errands& errands, bool for_all) {
  if (how.contains("data") && !how["data"].is_none()) {
    const auto& arrays = argument<ArraysObject>(how["data"], "data", "Arrays");
    offer_arrays(arrays.content, arrays.data);
  }
  if (how.contains("model") && !how["model"].is_none()) model_.emplace(model_of(how["model"].cast<py::dict>(), errands, for_all));
}

GivenInUse::~GivenInUse() = default;

void define_models(py::module_& module) {
  py::class_<ArraysObject> arrays(module, "HeldArrays", "Samples and labels of Arrays, and what names them.");
  arrays.def_property_readonly(
      "content", [](const ArraysObject& self) { return self.content; }, "A hash of the arrays.");
  arrays.def("first", &first_samples, py::arg("count"), "(inputs, labels) of that many training samples, as a model gets them.");
  def_constructor(arrays, &arrays_of, py::arg("train_x"), py::arg("train_y"), py::arg("test_x"), py::arg("test_y"), py::arg("classes"),
                  py::arg("whole"));
}

}  // namespace straggler::python
