#include "scenarios/import/execution_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/import/imported.hpp"
#include "scenarios/import/json_stream.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_execution_trace {
namespace {

using nlohmann::json;

constexpr int deepest = 64;
constexpr std::size_t most_events = 2'000'000;  // of a node
constexpr std::size_t most_nodes = 50'000'000, most_collectives = 10'000'000;
constexpr double most_elements = 1e15;

const json& member(const json& map, const char* key) {
  static const json nothing;
  if (!map.is_object()) return nothing;
  const auto found = map.find(key);
  return found == map.end() ? nothing : *found;
}
const json& at(const json& list, std::size_t i) {
  static const json nothing;
  return list.is_array() && i < list.size() ? list[i] : nothing;
}

/// Inputs of a node: of newer files in a map of lists, of older ones in lists beside each other.
const json& shapes_of(const json& node) {
  const json& inputs = member(node, "inputs");
  return inputs.is_object() ? member(inputs, "shapes") : member(node, "input_shapes");
}
const json& types_of(const json& node) {
  const json& inputs = member(node, "inputs");
  return inputs.is_object() ? member(inputs, "types") : member(node, "input_types");
}
const json& values_of(const json& node) {
  const json& inputs = member(node, "inputs");
  return inputs.is_object() ? member(inputs, "values") : inputs;
}

/// Of whole numbers; nothing: it is none.
std::optional<std::vector<std::int64_t>> shape_of(const json& list) {
  if (!list.is_array() || list.empty() || list.size() > 16) return std::nullopt;
  std::vector<std::int64_t> sides;
  for (const json& side : list) {
    if (!side.is_number_integer() || side.get<std::int64_t>() < 0 || side.get<std::int64_t>() > 1'000'000'000'000) return std::nullopt;
    sides.push_back(side.get<std::int64_t>());
  }
  return sides;
}

/// Numbers in the tensors of an input, which may be a list of tensors.
double elements_of(const json& shape) {
  if (const auto sides = shape_of(shape)) {
    double all = 1;
    for (const std::int64_t side : *sides) all *= static_cast<double>(side);
    return std::min(all, most_elements);
  }
  double sum = 0;
  if (shape.is_array())
    for (const json& each : shape)
      if (const auto sides = shape_of(each)) {
        double all = 1;
        for (const std::int64_t side : *sides) all *= static_cast<double>(side);
        sum += all;
      }
  return std::min(sum, most_elements);
}

/// "Tensor(c10::BFloat16)", "GenericList[Tensor(float)]"
std::optional<int> width_of(const json& type) {
  if (!type.is_string()) return std::nullopt;
  const std::string& name = type.get_ref<const std::string&>();
  const std::size_t begin = name.find("Tensor(");
  if (begin == std::string::npos) return std::nullopt;
  return element_bytes(std::string_view(name).substr(begin + 7, name.find(')', begin) - begin - 7));
}

/// Layers that take a batch, with the place of their input.
struct Layer {
  std::string_view name;
  std::size_t input;
};
constexpr std::array layers = {Layer{"aten::conv1d", 0},      Layer{"aten::conv2d", 0},    Layer{"aten::conv3d", 0},
                               Layer{"aten::convolution", 0}, Layer{"aten::embedding", 1}, Layer{"aten::linear", 0}};

class Reading {
 public:
  explicit Reading(std::string shown) : shown_(std::move(shown)) {}
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(shown_ + ": " + what); }

  void node(const json& node) {
    if (++made_.nodes > most_nodes) refuse("has more than 50 million nodes; record fewer steps");
    const json& called = member(node, "name");
    if (!called.is_string()) return;
    const std::string& name = called.get_ref<const std::string&>();
    const std::int64_t id = member(node, "id").is_number_integer() ? member(node, "id").get<std::int64_t>() : 0;
    if (name.starts_with("Optimizer.step")) ++made_.iterations;
    if (name.starts_with("Optimizer.zero_grad")) ++cleared_;
    if (name.starts_with("ProfilerStep#")) ++marked_;
    if (name.ends_with("AccumulateGrad") && !name.starts_with("autograd::engine")) accumulated_ += elements_of(at(shapes_of(node), 0));
    if (name.find("process_group:init") != std::string::npos) group(at(values_of(node), 0));
    for (const Layer& layer : layers)
      if (name == layer.name && id < first_layer_)
        if (const auto shape = shape_of(at(shapes_of(node), layer.input))) {
          first_layer_ = id;
          made_.input = *shape;
        }
    if (name.starts_with("nccl:") || name.starts_with("gloo:")) add(calls_, id, name, node);
    if (name == "record_param_comms") recorded(id, node);
  }

  ExecutionTrace finish(const json& root) {
    if (made_.nodes == 0) refuse("is an execution trace without nodes; record a step of training");
    if (member(root, "schema").is_string()) made_.schema = on_one_line(member(root, "schema").get<std::string>().substr(0, 40));
    if (made_.iterations == 0) made_.iterations = cleared_ > 0 ? cleared_ : std::max<std::size_t>(1, marked_);
    std::vector<Call>& all = calls_.empty() ? records_ : calls_;
    std::ranges::stable_sort(all, {}, &Call::id);
    double reduced = 0;
    for (const Call& call : all)
      if (call.made.kind == TraceCollective::all_reduce || call.made.kind == TraceCollective::reduce_scatter) reduced += call.made.elements;
    const auto steps = static_cast<double>(made_.iterations);
    made_.gradients = std::round((accumulated_ > 0 ? accumulated_ : reduced) / steps);
    const std::size_t each = all.size() / made_.iterations;
    const std::size_t begin = each * made_.iterations == all.size() ? all.size() - each : 0;
    for (std::size_t i = begin; i < all.size(); ++i) made_.collectives.push_back(all[i].made);
    if (made_.input.size() > 1 && made_.input.front() >= 1 && made_.input.front() <= 1'000'000) made_.batch = made_.input.front();
    return std::move(made_);
  }

 private:
  struct Call {
    std::int64_t id = 0;
    ExecutionTrace::Collective made;
  };

  void add(std::vector<Call>& to, std::int64_t id, std::string_view name, const json& node) const {
    if (to.size() == most_collectives) refuse("has more than 10 million collectives; record fewer steps");
    to.push_back({id, {collective_called(name), elements_of(at(shapes_of(node), 0)), width_of(at(types_of(node), 0))}});
  }

  /// Newer files name the collective and its sizes in attributes.
  void recorded(std::int64_t id, const json& node) {
    std::string name;
    std::optional<double> elements;
    std::optional<int> width;
    if (const json& attributes = member(node, "attrs"); attributes.is_array())
      for (const json& each : attributes) {
        const json &key = member(each, "name"), &value = member(each, "value");
        if (!key.is_string()) continue;
        const std::string& called = key.get_ref<const std::string&>();
        if (called == "collective_name" && value.is_string()) name = value.get<std::string>();
        if (called == "in_msg_nelems" && value.is_number()) elements = value.get<double>();
        if (called == "dtype" && value.is_string()) width = element_bytes(value.get_ref<const std::string&>());
        if (called == "group_size" && value.is_number_integer() && !made_.ranks) ranks(value.get<double>());
      }
    if (name.empty() || name == "wait" || name == "init") return;
    add(records_, id, name, node);
    ExecutionTrace::Collective& made = records_.back().made;
    if (elements && *elements >= 0 && *elements <= most_elements) made.elements = *elements;
    if (width) made.element_bytes = width;
  }

  void ranks(double number) {
    if (number >= 1 && number <= 1e6) made_.ranks = static_cast<std::int64_t>(number);
  }
  /// "[{\"pg_name\": \"0\", … \"group_size\": 2, …}]"; the largest group is the job.
  void group(const json& value) {
    if (!value.is_string()) return;
    const std::string_view text = value.get_ref<const std::string&>();
    constexpr std::string_view key = "\"group_size\":";
    for (std::size_t begin = text.find(key); begin != std::string_view::npos; begin = text.find(key, begin + 1)) {
      std::string_view digits = trimmed(text.substr(begin + key.size(), 12));
      std::size_t end = 0;
      while (end < digits.size() && is_digit(digits[end])) ++end;
      if (const auto number = as_number(digits.substr(0, end)); number && *number > static_cast<double>(made_.ranks.value_or(0)))
        ranks(*number);
    }
  }

  std::string shown_;
  ExecutionTrace made_;
  std::vector<Call> calls_, records_;
  std::int64_t first_layer_ = std::numeric_limits<std::int64_t>::max();
  std::size_t cleared_ = 0, marked_ = 0;
  double accumulated_ = 0;
};

}  // namespace
}  // namespace straggler::import_execution_trace

namespace straggler {

bool is_execution_trace(const FileStart& start) {
  const std::string_view text = trimmed(start.bytes);
  const auto has = [text](std::string_view part) { return text.find(part) != std::string_view::npos; };
  return text.starts_with('{') && has("\"schema\"") && has("\"nodes\"") && (has("\"ctrl_deps\"") || has("\"rf_id\""));
}

ExecutionTrace read_execution_trace(const GivenFile& file) {
  using namespace import_execution_trace;
  Reading reading(file.shown().string());
  JsonStream bytes(file);
  std::size_t events = 0;
  // Of a node only what is read is kept: most of a file is outputs and attributes.
  constexpr int in_node = 3;
  bool naming = false, records = false;
  const json::parser_callback_t each = [&](int depth, json::parse_event_t event, json& value) {
    bytes.bracket();
    if (depth > deepest) reading.refuse("nests lists and maps deeper than any trace; get the original file");
    if (++events > most_events) reading.refuse("has a node of more than a million values; get the original file");
    switch (event) {
      case json::parse_event_t::key: {
        if (depth != in_node) return true;
        const std::string& key = value.get_ref<const std::string&>();
        naming = key == "name";
        return key != "outputs" && (key != "attrs" || records);
      }
      case json::parse_event_t::value:
        if (naming && depth == in_node) records = value.is_string() && value.get_ref<const std::string&>() == "record_param_comms";
        naming = false;
        return true;
      case json::parse_event_t::object_end:
        if (depth != in_node - 1) return true;
        reading.node(value);
        events = 0;
        records = false;
        return false;
      default:
        return true;
    }
  };
  json root;
  try {
    root = json::parse(JsonBytes{&bytes}, JsonBytes{}, each);
  } catch (const json::exception&) {
    reading.refuse(bytes.ended() ? "is an execution trace that ends within a node; get the whole file"
                                 : "is an execution trace that is no JSON; get an undamaged file");
  }
  return reading.finish(root);
}

}  // namespace straggler
