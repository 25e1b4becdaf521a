#include "scenarios/sweep/scaling_axis.hpp"

#include <fmt/format.h>

#include <utility>

#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/part.hpp"

namespace straggler {

namespace {

constexpr ChoiceTable<Sweep::Scaling::Kind> kinds("kind", {{Sweep::Scaling::Kind::weak, "weak"}, {Sweep::Scaling::Kind::strong, "strong"}});

Parameter count_of_workers() {
  Parameter count;
  count.name = "workers";
  count.type = ValueType::count;
  count.range = Range::between(1, 1e9);
  return count;
}

/// The batch in the other form: of each worker, or of all. Empty: it stands there already.
std::string other_form(const Scenario& base, Sweep::Scaling::Kind kind, std::string& problem) {
  const BatchSpec& batch = base.training.batch;
  const std::int64_t workers = base.workers();
  std::string size;
  if (kind == Sweep::Scaling::Kind::strong && batch.per_worker) size = fmt::format("global: {}", *batch.per_worker * workers);
  if (kind == Sweep::Scaling::Kind::weak && batch.global) {
    if (*batch.global % workers != 0)
      problem = fmt::format(
          "is weak, and the global batch of {} has no whole share for each of the scenario's {} workers; write "
          "training.batch: {{per_worker: {}}} there",
          *batch.global, workers, std::max<std::int64_t>(*batch.global / workers, 1));
    size = fmt::format("per_worker: {}", *batch.global / workers);
  }
  if (size.empty()) return {};
  if (batch.drop_last) size += ", drop_last: true";
  if (batch.accumulate > 1) size += fmt::format(", accumulate: {}", batch.accumulate);
  if (batch.rebalance_every) size += fmt::format(", rebalance: {{every: {{updates: {}}}}}", *batch.rebalance_every);
  return "{" + size + "}";
}

}  // namespace

ScenarioKey scaling_form() {
  ScenarioKey workers{.name = "workers",
                      .type = ValueType::count,
                      .range = Range::between(1, 1e9),
                      .meaning = "numbers of workers of the one group",
                      .required = true,
                      .form = "list of counts",
                      .shape = ScenarioKey::Shape::values};
  return {.name = "SCALING",
          .shape = ScenarioKey::Shape::map,
          .keys = {{.name = "kind",
                    .type = ValueType::choice,
                    .meaning = "`weak`: each worker keeps its batch; `strong`: all together keep theirs",
                    .required = true,
                    .choices = kinds.names()},
                   workers}};
}

void read_scaling(ReadContext& context, const YamlNode& node, Sweep& sweep) {
  const std::string path = std::string("axes.") + scaling_axis;
  if (node.type != YamlNode::Type::map)
    return context.problems.add(node.place, path, "is " + what_stands(node) + "; write {kind: weak, workers: [1, 2, 4]}");
  Section section(context, &node, path, node.place);
  Parameter kind;
  kind.name = "kind";
  kind.type = ValueType::choice;
  kind.choices = kinds.names();
  section.require("kind", "write kind: weak, or kind: strong");
  const std::optional<Value> word = section.value(kind);
  const YamlNode* const workers = section.require("workers", "write workers: [1, 2, 4]");
  Axis axis{{"cluster.workers[0].count"}, {}};
  if (workers && workers->type == YamlNode::Type::sequence) {
    for (std::size_t i = 0; i < workers->items.size(); ++i)
      if (read_value(context, workers->items[i], fmt::format("{}.workers[{}]", path, i), count_of_workers()))
        axis.values.push_back({{workers->items[i].text, workers->items[i].text, workers->items[i].place}});
  }
  if (workers && axis.values.empty() && !context.problems.any())
    context.problems.add(workers->place, path + ".workers", "is " + what_stands(*workers) + "; write a list such as [1, 2, 4]");
  section.finish();
  if (!word || axis.values.empty()) return;
  sweep.scaling = Sweep::Scaling{sweep.axes.size(), *kinds.find(std::get<std::string>(*word)), node.place};
  sweep.axes.push_back(std::move(axis));
}

void complete_scaling(ReadContext& context, Sweep& sweep) {
  if (!sweep.scaling || context.problems.any()) return;
  std::vector<std::string> sets;
  for (const auto& [path, yaml] : sweep.set) sets.push_back(path + "=" + yaml);
  ReadOptions options;
  options.sets_of_file = static_cast<int>(sets.size());
  options.sets_folder = sweep.folder;
  Scenario base;
  try {
    base = base_scenario(sweep).read(sets, options);
  } catch (const ScenarioErrors&) {
    return;  // each point says so
  }
  const std::string path = std::string("axes.") + scaling_axis;
  std::string problem;
  if (base.cluster.workers.size() != 1)
    problem = "varies the workers of one group, and the scenario has " + std::to_string(base.cluster.workers.size()) +
              " groups; write one, or vary the paths of their counts";
  const std::string batch = problem.empty() ? other_form(base, sweep.scaling->kind, problem) : std::string();
  if (!problem.empty()) return context.problems.add(sweep.scaling->place, path, problem);
  if (batch.empty()) return;
  Axis& axis = sweep.axes[sweep.scaling->axis];
  axis.paths.emplace_back("training.batch");
  for (std::vector<AxisValue>& together : axis.values) together.push_back({batch, batch, sweep.scaling->place});
}

}  // namespace straggler
