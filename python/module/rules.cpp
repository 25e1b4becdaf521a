#include "python/module/rules.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "models/optimizers/scheduled.hpp"
#include "python/module/schemes.hpp"
#include "scenarios/schema/late_words.hpp"
#include "sim/base/key.hpp"
#include "sim/base/late_entry.hpp"

namespace straggler::python {

namespace {

/// Functions by their ids, and rules; neither is ever removed.
struct Functions {
  std::mutex mutex;
  std::map<double, std::shared_ptr<const Kept>> by_id;
  std::deque<std::pair<std::string, Rule>> rules;  // names beside the rules that view them
};

Functions& functions() {
  static Functions& all = *new Functions;  // never destroyed: the interpreter ends earlier
  return all;
}

/// 53 bits of name and version, exact in a double.
double id_of(const std::string& name, const std::string& version) {
  return static_cast<double>(Hasher().add("numpy").add(std::string_view(name)).add(std::string_view(version)).key().low >> 11);
}

const Rule& rule_named(const std::string& name) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  for (const auto& [known, rule] : all.rules)
    if (known == name) return rule;
  auto& [kept, rule] = all.rules.emplace_back(name, Rule{});
  rule.name = kept;
  return rule;
}

std::shared_ptr<const Kept> function_of(double id) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  return all.by_id.at(id);
}

/// The arithmetic of all numpy rules: scalars are (id, output, given...). Arrays are copies, so that a function can keep them.
void apply(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars, float* out) {
  const Gil gil;
  const auto n = static_cast<py::ssize_t>(extent.n);
  py::list arrays;
  for (const float* const input : inputs) arrays.append(py::array_t<float>(n, input));
  const std::vector<double> given(scalars.begin() + 2, scalars.end());
  const py::object made = function_of(scalars[0])->get()(arrays, given, static_cast<std::size_t>(scalars[1]));
  const auto result = py::array_t<float, py::array::c_style | py::array::forcecast>::ensure(made);
  if (!result) throw py::error_already_set();
  if (result.ndim() != 1 || result.size() != n)
    throw std::invalid_argument("a rule in numpy returns an array of another shape than its inputs'; they have " + std::to_string(n) +
                                " numbers");
  for (std::size_t i = 0; i < extent.registers; ++i) out[extent.own + i] = inputs[0][extent.own + i];
  std::copy_n(result.data(), extent.n, out);
}

NumpyRule numpy_rule(const std::string& name, const std::string& version, const char* output, StatisticsRule statistics, int gradient,
                     int in_place) {
  const NumpyRule rule{&rule_named("numpy/" + name + "/" + version + output), id_of(name, version)};
  register_or_replace(ElementwiseEntry{.name = std::string(rule.rule->name),
                                       .summary = "a rule in Python",
                                       .parameters = {},
                                       .in_place = in_place,
                                       .statistics = statistics,
                                       .gradient = gradient,
                                       .apply = apply});
  return rule;
}

void keep_function(double id, const py::object& function) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  all.by_id[id] = std::make_shared<const Kept>(function);
}

void require_quiet() {
  if (RegistryInUse::users() > 0) throw std::runtime_error("a run is under way; define rules and optimizers before it or after it");
}

class NumpyOptimizer final : public ScheduledRule {
 public:
  /// `rules`: of the weights, then of each vector of state.
  NumpyOptimizer(const Parameters& parameters, Schedule schedule, std::vector<NumpyRule> rules, std::vector<double> values)
      : ScheduledRule(parameters, std::move(schedule)), rules_(std::move(rules)), values_(std::move(values)) {}

  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    if (state.size() + 1 != rules_.size()) state.clear();  // of another kind (Node::adopt_optimizer): as before the first step
    std::vector<Handle> inputs{weights, gradient};
    inputs.insert(inputs.end(), state.begin(), state.end());
    std::vector<double> given{learning_rate(epochs, averaged)};
    given.insert(given.end(), values_.begin(), values_.end());
    std::vector<Handle> made;
    for (std::size_t output = 0; output < rules_.size(); ++output)
      made.push_back(lineage.elementwise(*rules_[output].rule, inputs, rules_[output].scalars(output, given)));
    state.assign(made.begin() + 1, made.end());
    return made.front();
  }

 private:
  std::vector<NumpyRule> rules_;
  std::vector<double> values_;
};

double number_of(const Value& value) {
  if (const bool* const flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  if (const std::int64_t* const count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count);
  return std::get<double>(value);
}

NumpyRule register_rule(const std::string& name, const std::string& version, const py::object& function) {
  require_quiet();
  const NumpyRule rule = numpy_rule(name, version, "", StatisticsRule::carry, 0, -1);
  keep_function(rule.id, function);
  return rule;
}

/// `parameters`: name, type (number, count or boolean), default.
void register_optimizer(const std::string& name, const std::string& version, std::size_t states,
                        const std::vector<std::array<std::string, 3>>& parameters, const std::string& summary, const py::object& function) {
  require_quiet();
  static std::map<std::string, bool> ours;
  if (Registry<OptimizerEntry>::instance().find(name) && !ours[name])
    throw std::invalid_argument("there is an optimizer '" + name + "' already; choose another name");
  OptimizerEntry entry;
  entry.name = name;
  entry.summary = summary;
  std::vector<Parameter> declared{learning_rate_parameter()};
  std::vector<std::string> names;
  for (const auto& [each, type, fallback] : parameters) {
    const ValueType kind = type == "count" ? ValueType::count : type == "boolean" ? ValueType::boolean : ValueType::number;
    declared.push_back({.name = each, .type = kind, .fallback = fallback});
    names.push_back(each);
  }
  entry.parameters = std::move(declared);
  std::vector<NumpyRule> rules{numpy_rule(name, version, "/weights", StatisticsRule::advance, 1, -1)};
  for (std::size_t k = 0; k < states; ++k)
    rules.push_back(numpy_rule(name, version, ("/state " + std::to_string(k)).c_str(), StatisticsRule::carry, 1, static_cast<int>(2 + k)));
  keep_function(rules.front().id, function);
  entry.make = [rules, names](const Parameters& given, Schedule schedule) -> std::unique_ptr<UpdateRule> {
    std::vector<double> values;
    for (const std::string& each : names) values.push_back(number_of(given.all().at(each)));
    return std::make_unique<NumpyOptimizer>(given, std::move(schedule), rules, values);
  };
  register_or_replace(std::move(entry));
  ours[name] = true;
  registries_have_changed();
}

}  // namespace

std::vector<double> NumpyRule::scalars(std::size_t output, const std::vector<double>& given) const {
  std::vector<double> all{id, static_cast<double>(output)};
  all.insert(all.end(), given.begin(), given.end());
  return all;
}

void define_rules(py::module_& module) {
  py::class_<NumpyRule>(module, "Rule", "Arithmetic over vectors, for node.apply.")
      .def_property_readonly(
          "name", [](const NumpyRule& rule) { return std::string(rule.rule->name); }, "With its version, as keys have it.");
  module.def("register_rule", &register_rule, py::arg("name"), py::arg("version"), py::arg("function"));
  module.def("register_optimizer", &register_optimizer, py::arg("name"), py::arg("version"), py::arg("states"), py::arg("parameters"),
             py::arg("summary"), py::arg("function"));
}

}  // namespace straggler::python
