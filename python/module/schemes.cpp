#include "python/module/schemes.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "models/optimizers/optimizer.hpp"
#include "python/module/calls.hpp"
#include "python/module/operations.hpp"
#include "scenarios/schema/late_words.hpp"
#include "sim/base/units.hpp"
#include "sim/training/late_schemes.hpp"

namespace straggler::python {

namespace {

using Shared = std::shared_ptr<const Kept>;

/// The author's fact as that type. Throws py::type_error.
template <class T>
T fact(py::handle what, const std::string& name) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!PyBool_Check(what.ptr())) refuse_argument(name.c_str(), what, "True or False");
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (PyBool_Check(what.ptr())) refuse_argument(name.c_str(), what, "a number");
  }
  try {
    return what.cast<T>();
  } catch (const py::cast_error&) {
    const bool whole = std::is_integral_v<T>, number = std::is_arithmetic_v<T>, text = std::is_same_v<T, std::string>;
    refuse_argument(name.c_str(), what, whole ? "a whole number" : number ? "a number" : text ? "a text" : "a list or dict of texts");
  }
}

/// A whole number from `least` to 2^31 - 1, or None.
std::optional<std::int64_t> count_or_none(const py::object& what, const std::string& name, std::int64_t least = 1) {
  if (what.is_none()) return std::nullopt;
  const auto count = fact<std::int64_t>(what, name);
  if (count < least || count > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(name + " is " + std::to_string(count) + "; write a whole number from " + std::to_string(least));
  return count;
}

py::object value_of(const Value& value) {
  return std::visit([](const auto& what) { return py::object(py::cast(what)); }, value);
}

py::dict values_of(const Parameters& parameters) {
  py::dict all;
  for (const auto& [name, value] : parameters.all()) all[py::str(name)] = value_of(value);
  return all;
}

/// A scheme is an object of its class whose parameters are attributes, set before __init__.
py::object make_instance(const Kept& type, const Parameters& parameters) {
  py::object made = type.get().attr("__new__")(type.get());
  for (const auto& [name, value] : parameters.all()) {
    std::string attribute = name;
    std::replace(attribute.begin(), attribute.end(), '.', '_');
    py::setattr(made, attribute.c_str(), value_of(value));
  }
  made.attr("__init__")();
  return made;
}

class PythonScheme final : public Scheme {
 public:
  /// Throws std::invalid_argument where the author's __init__ raises a ValueError.
  PythonScheme(Shared type, const Parameters& parameters, bool has_server)
      : type_(std::move(type)), parameters_(parameters), has_server_(has_server) {
    const Gil gil;
    try {
      make_instance(*type_, parameters_);
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_ValueError)) throw;
      throw std::invalid_argument(py::str(error.value()).cast<std::string>());
    }
  }

 private:
  Process worker(Node& node) const override { return drive(node, scope(node), Life::Role::worker); }
  Process server(Node& node) const override { return drive(node, scope(node), Life::Role::server); }
  Process aggregator(Node& node) const override { return drive(node, scope(node), Life::Role::aggregator); }

  /// One for the processes of a simulation; each simulation has its own.
  std::shared_ptr<Scope> scope(const Node& node) const {
    std::shared_ptr<Scope> scope = scope_.lock();
    if (scope) return scope;
    const Gil gil;
    const Aggregation& aggregation = node.plan().aggregation;
    const Rank ranks = aggregation.count() > 0 ? aggregation.first_rank + aggregation.count() : node.workers() + (has_server_ ? 1 : 0);
    scope = std::make_shared<Scope>(make_instance(*type_, parameters_), ranks, has_server_, parameters_);
    scope_ = scope;
    return scope;
  }

  const Shared type_;
  const Parameters parameters_;
  const bool has_server_;
  mutable std::weak_ptr<Scope> scope_;
};

/// A fact stated by the author, as a value or a function of the scheme's parameters.
class Spec {
 public:
  explicit Spec(py::dict given) : given_(std::move(given)) {}
  py::object get(const char* name) const { return given_.contains(name) ? py::object(given_[name]) : py::object(py::none()); }
  bool has(const char* name) const { return !get(name).is_none(); }
  std::string text(const char* name) const { return has(name) ? fact<std::string>(get(name), name) : std::string(); }
  bool flag(const char* name, bool fallback) const { return has(name) ? fact<bool>(get(name), name) : fallback; }

  /// convert() of the author's value, which is checked at once, or of the function's result. Called without the lock.
  template <class Convert>
  auto setting(const char* name, Convert convert) const {
    auto kept = std::make_shared<const Kept>(get(name));
    const bool calls = PyCallable_Check(kept->get().ptr()) != 0;
    if (!calls) convert(py::reinterpret_borrow<py::object>(kept->get()));
    return [kept, calls, convert](const Parameters& parameters) {
      const Gil gil;
      py::object what = py::reinterpret_borrow<py::object>(kept->get());
      if (calls) what = what(values_of(parameters));
      return convert(what);
    };
  }
  /// The same of a function of (parameters, workers).
  template <class Convert>
  auto of_workers(const char* name, Convert convert) const {
    auto kept = std::make_shared<const Kept>(get(name));
    const bool calls = PyCallable_Check(kept->get().ptr()) != 0;
    if (!calls) convert(py::reinterpret_borrow<py::object>(kept->get()));
    return [kept, calls, convert](const Parameters& parameters, const TrainingPlan& plan) {
      const Gil gil;
      py::object what = py::reinterpret_borrow<py::object>(kept->get());
      if (calls) what = what(values_of(parameters), plan.workers);
      return convert(what);
    };
  }

 private:
  py::dict given_;
};

template <class Enumerator>
Enumerator named(std::initializer_list<Enumerator> all, const std::string& name, const char* what) {
  std::string known;
  for (const Enumerator each : all) {
    if (name_of(each) == name) return each;
    known += (known.empty() ? "" : ", ") + std::string(name_of(each));
  }
  throw std::invalid_argument(std::string(what) + " is '" + name + "'; known: " + known);
}

Exchange exchange_named(const std::string& name) {
  return named({Exchange::none, Exchange::server, Exchange::all_reduce, Exchange::peers}, name, "exchange");
}
Versions versions_named(const std::string& name) {
  return named({Versions::shared, Versions::lockstep, Versions::free_running}, name, "versions");
}

ValueType type_named(const std::string& name) {
  std::vector<std::pair<std::string, ValueType>> types = {
      {"count", ValueType::count}, {"number", ValueType::number}, {"fraction", ValueType::fraction}};
  for (const DimensionRow& row : dimensions()) types.emplace_back(row.name, row.type);
  types.insert(types.end(),
               {{"boolean", ValueType::boolean}, {"choice", ValueType::choice}, {"counts", ValueType::counts}, {"text", ValueType::text}});
  std::string known;
  for (const auto& [each, type] : types) {
    if (each == name) return type;
    known += (known.empty() ? "" : ", ") + each;
  }
  throw std::invalid_argument("a parameter's type is '" + name + "'; known: " + known);
}

Parameter parameter_of(const py::dict& given) {
  const Spec spec(given);
  Parameter parameter;
  parameter.name = spec.text("name");
  parameter.type = type_named(spec.text("type"));
  if (spec.has("default")) parameter.fallback = spec.text("default");
  parameter.required = spec.flag("required", false);
  parameter.meaning = spec.text("meaning");
  if (spec.has("low")) parameter.range.low = fact<double>(spec.get("low"), "low");
  if (spec.has("high")) parameter.range.high = fact<double>(spec.get("high"), "high");
  if (spec.has("choices")) parameter.choices = fact<std::vector<std::string>>(spec.get("choices"), "choices");
  if (parameter.fallback) parse_value(parameter, *parameter.fallback);
  return parameter;
}

/// {"kind": "sgd", "learning_rate": 0.7}; None: the scheme has no second optimizer.
std::optional<OptimizerChoice> optimizer_of(const py::object& given) {
  if (given.is_none()) return std::nullopt;
  if (!py::isinstance<py::dict>(given) || !given.contains("kind"))
    refuse_argument("outer_optimizer", given, "such as {'kind': 'sgd', 'learning_rate': 0.7}");
  OptimizerChoice choice;
  choice.kind = fact<std::string>(given["kind"], "outer_optimizer: kind");
  if (!Registry<OptimizerEntry>::instance().find(choice.kind))
    throw std::invalid_argument("outer_optimizer: there is no optimizer '" + choice.kind + "'; straggler.list('optimizers') has them");
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at(choice.kind);
  for (const auto& [key, value] : given.cast<py::dict>()) {
    const auto name = fact<std::string>(key, "outer_optimizer: a key");
    if (name == "kind") continue;
    const auto parameter =
        std::find_if(entry.parameters.begin(), entry.parameters.end(), [&](const Parameter& p) { return p.name == name; });
    if (parameter == entry.parameters.end()) throw std::invalid_argument("outer_optimizer: " + choice.kind + " has no parameter " + name);
    if (parameter->type == ValueType::boolean)
      choice.parameters.set(name, fact<bool>(value, "outer_optimizer: " + name));
    else if (parameter->type == ValueType::count)
      choice.parameters.set(name, fact<std::int64_t>(value, "outer_optimizer: " + name));
    else
      choice.parameters.set(name, fact<double>(value, "outer_optimizer: " + name));
  }
  complete(entry.parameters, choice.parameters);
  return choice;
}

Parameter on_failure_of(const std::vector<std::string>& choices) {
  Parameter parameter = on_failure({OnFailure::wait, OnFailure::drop, OnFailure::abort}, "the first of these is the default");
  for (const std::string& choice : choices)
    if (!failure_choice.find(choice)) throw std::invalid_argument("on_failure knows wait, drop and abort, not '" + choice + "'");
  if (choices.empty()) throw std::invalid_argument("on_failure names at least one of wait, drop and abort");
  parameter.choices = choices;
  parameter.fallback = choices.front();
  return parameter;
}

/// "batches": each is an update; "rounds": a batch of each worker is; or a function of (parameters, workers, batches per epoch).
std::optional<double> updates_of(const Kept& rule, const Parameters& parameters, const TrainingPlan& plan) {
  const Gil gil;
  const py::object given = py::reinterpret_borrow<py::object>(rule.get());
  if (given.is_none()) return std::nullopt;
  const double batches = plan.batches_per_epoch();
  if (PyCallable_Check(given.ptr())) {
    const py::object made = given(values_of(parameters), plan.workers, batches);
    if (made.is_none()) return std::nullopt;
    const auto updates = fact<double>(made, "updates_per_epoch");
    if (!(updates > 0 && updates < 1e18)) throw std::invalid_argument("updates_per_epoch is " + shown(made) + "; it must be positive");
    return updates;
  }
  return fact<std::string>(given, "updates_per_epoch") == "rounds" ? batches / plan.workers : batches;
}

/// "chance", "samples", or {"speed": candidates}.
ClientSelection selection_of(const py::object& given) {
  using By = ClientSelection::By;
  if (given.is_none()) return {};
  if (py::isinstance<py::dict>(given) && py::len(given) == 1 && given.contains("speed")) {
    const auto candidates = count_or_none(given["speed"], "selection: speed").value_or(1);
    return {By::speed, candidates};
  }
  const bool text = py::isinstance<py::str>(given);
  if (text && given.cast<std::string>() == "chance") return {};
  if (text && given.cast<std::string>() == "samples") return {By::samples, 1};
  throw std::invalid_argument("selection is " + shown(given) + "; write 'chance', 'samples' or {'speed': candidates}");
}

/// "plain", "by_samples" or None.
std::optional<Average::By> average_named(const py::object& given) {
  if (given.is_none()) return std::nullopt;
  const auto by = py::isinstance<py::str>(given) ? Average::choice.find(given.cast<std::string>()) : std::nullopt;
  if (!by) throw std::invalid_argument("average is " + shown(given) + "; write 'plain' or 'by_samples', or leave it out");
  return by;
}

WorkersHold workers_hold_named(const std::string& name) {
  if (name == "same_version") return WorkersHold::same_version;
  if (name == "own_version") return WorkersHold::own_version;
  if (name == "own_weights") return WorkersHold::own_weights;
  throw std::invalid_argument("workers_hold is '" + name + "'; known: same_version, own_version, own_weights");
}

/// Bytes of a Python worker beyond those of a C++ one: its generator, node and operation. Measured with 21,000 workers of asgd.
constexpr std::size_t python_bytes = 1'000;

SchemeEntry entry_of(const Spec& spec, const Shared& type) {
  SchemeEntry entry{.name = spec.text("name"),
                    .summary = spec.text("summary"),
                    .reference = spec.text("reference"),
                    .family = family_choice.find(spec.text("family")).value(),
                    .rule = spec.text("rule"),
                    .paragraph = spec.text("paragraph"),
                    .waits = spec.text("waits"),
                    .make = nullptr};
  entry.staleness = unbounded_staleness();
  entry.rolls_back = RollsBack::never;  // a checkpoint does not know what its processes remember
  entry.traffic = {.text = "not stated"};
  std::vector<Parameter> declared;
  for (const py::handle each : spec.get("parameters")) declared.push_back(parameter_of(each.cast<py::dict>()));
  declared.push_back(on_failure_of(fact<std::vector<std::string>>(spec.get("on_failure"), "on_failure")));
  entry.parameters = std::move(declared);
  entry.examples = fact<std::vector<ParameterTexts>>(spec.get("examples"), "examples");
  const auto truth = [](const char* name) { return [name](const py::object& what) { return fact<bool>(what, name); }; };
  const auto count = [](const char* name) { return [name](const py::object& what) { return count_or_none(what, name); }; };
  entry.exchange = spec.setting("exchange", [](const py::object& what) { return exchange_named(fact<std::string>(what, "exchange")); });
  entry.versions = spec.setting("versions", [](const py::object& what) { return versions_named(fact<std::string>(what, "versions")); });
  entry.asynchronous = spec.setting("asynchronous", truth("asynchronous"));
  entry.average = spec.setting("average", average_named);
  entry.reduces = spec.setting("reduces", truth("reduces"));
  entry.sends_gradients = spec.setting("sends_gradients", truth("sends_gradients"));
  entry.answers_hold_own = spec.flag("answers_hold_own", true);
  entry.unanswered = spec.flag("unanswered", false);
  entry.invited = spec.of_workers("invited", count("invited"));
  entry.outer_optimizer = spec.setting("outer_optimizer", optimizer_of);
  entry.selection = spec.setting("selection", selection_of);
  entry.invites = spec.flag("invites", false);
  entry.clients_keep_vectors = spec.flag("clients_keep_vectors", false);
  entry.cell_chunks = spec.setting("cell_chunks", count("cell_chunks"));
  entry.minibatch = spec.setting("minibatch", count("minibatch"));
  entry.only_workers = count_or_none(spec.get("only_workers"), "only_workers");
  entry.one_process = spec.flag("one_process", false);
  if (spec.has("aggregators"))
    entry.aggregators = [number = spec.of_workers("aggregators", count("aggregators"))](const Parameters& parameters,
                                                                                        const TrainingPlan& plan) {
      return static_cast<Rank>(std::clamp<std::int64_t>(number(parameters, plan).value_or(1), 1, plan.workers));
    };
  entry.unfit =
      spec.of_workers("unfit", [](const py::object& why) { return why.is_none() ? std::string() : fact<std::string>(why, "unfit"); });
  entry.updates_per_epoch = [rule = std::make_shared<const Kept>(spec.get("updates_per_epoch"))](
                                const Parameters& parameters, const TrainingPlan& plan) { return updates_of(*rule, parameters, plan); };
  entry.not_compressible = spec.text("not_compressible");
  entry.real = false;
  entry.with_compression = fact<ParameterTexts>(spec.get("with_compression"), "with_compression");
  entry.workers_hold = workers_hold_named(spec.text("workers_hold"));
  entry.worker_vectors = static_cast<std::size_t>(count_or_none(spec.get("worker_vectors"), "worker_vectors", 0).value_or(0));
  entry.worker_bytes = usual::worker_bytes(Versions::shared) + python_bytes;
  entry.make = [type, exchange = entry.exchange](const Parameters& parameters) {
    return std::make_unique<PythonScheme>(type, parameters, exchange(parameters) == Exchange::server);
  };
  return entry;
}

void register_scheme(const py::dict& given, const py::object& type) {
  if (RegistryInUse::users() > 0) throw std::runtime_error("a run is under way; define schemes before it or after it");
  const Spec spec(given);
  register_late(entry_of(spec, std::make_shared<const Kept>(type)), spec.text("code"));
  registries_have_changed();
}

}  // namespace

void define_schemes(py::module_& module) {
  module.def("register_scheme", &register_scheme, py::arg("spec"), py::arg("type"));
  py::list families;
  for (const std::string& family : family_choice.names()) families.append(family);
  module.attr("families") = families;
}

}  // namespace straggler::python
