#include "scenarios/schema/reader.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "scenarios/schema/file_kind.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/overrides.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

/// The file's own name, where none is given.
std::string name_from(const std::filesystem::path& file) {
  std::string name = file.stem().string().substr(0, 100);
  for (char& c : name)
    if (!is_name(std::string_view(&c, 1))) c = '-';
  return name.empty() ? "scenario" : name;
}

void read_head(Section& top, Scenario& scenario) {
  const YamlNode* name = top.find("name");
  scenario.name = name == nullptr ? name_from(scenario.file) : top.word("name");
  if (name != nullptr && name->type == YamlNode::Type::scalar && !is_name(scenario.name))
    top.context().problems.add(name->place, "name",
                               in_quotes(scenario.name) + " is not a name; write letters, digits, - and _, at most 100");
  const YamlNode* seed = top.find("seed");
  if (seed == nullptr) return;
  try {
    if (seed->type != YamlNode::Type::scalar || seed->quoted)
      throw std::invalid_argument("is " + what_stands(*seed) + "; write a whole number such as 1");
    scenario.seed = parse_unsigned(seed->text);
  } catch (const std::invalid_argument& error) {
    top.context().problems.add(seed->place, "seed", error.what());
  }
}

/// Where a scheme's updates are not rounds.
void refuse_rounds(Section& top, const std::string& scheme) {
  for (const char* const keys : {"training.stop.rounds", "training.evaluate.every.rounds"}) {
    const YamlNode* node = top.node();
    std::istringstream path(keys);
    for (std::string key; node != nullptr && std::getline(path, key, '.');) node = node->find(key);
    if (node != nullptr)
      top.context().problems.add(node->place, keys, scheme + " has no rounds; write updates, which counts the published versions");
  }
}

/// A batch of some workers' own stands on training.batch.per_worker.
void check_own_batches(ReadContext& context, const Scenario& scenario) {
  if (!scenario.training.batch.global) return;
  for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g) {
    const WorkerGroup& group = scenario.cluster.workers[g];
    const bool in_rows = std::ranges::any_of(group.rows, [](const DeviceRow& row) { return row.batch > 0; });
    if (group.batch || in_rows)
      context.problems.add("cluster.workers[" + std::to_string(g) + (group.batch ? "].batch" : "].population"),
                           "gives these workers a batch of their own, and training.batch.global divides one over all; write "
                           "training.batch.per_worker for the others, or training.batch: {global: 1000, split: by_speed}");
  }
}

/// Checks across parts.
void check_together(Section& top, const Scenario& scenario) {
  ReadContext& context = top.context();
  const Kind& kind = scenario.training.scheme;
  const Word* scheme = context.vocabulary.find(KindGroup::scheme, kind.name);
  if (scheme == nullptr || context.problems.any()) return;  // later checks could be wrong about values that were not read
  if (scheme->needs_server && scheme->needs_server(kind.parameters) && scenario.cluster.servers.count == 0) {
    std::string what = kind.name;
    if (kind.parameters.has("via")) what += " via server";
    context.problems.add("training.scheme", what + " needs a parameter server, and the cluster has none; add cluster.servers: {count: 1}");
  }
  if (scheme->only_workers && scenario.workers() != *scheme->only_workers) {
    context.problems.add("training.scheme", kind.name + " runs on exactly " + std::to_string(*scheme->only_workers) +
                                                " worker(s), and the cluster has " + std::to_string(scenario.workers()) +
                                                "; change cluster.workers or the scheme");
  }
  if (scheme->has_rounds && !scheme->has_rounds(kind.parameters)) refuse_rounds(top, kind.name);
  check_cluster(context, scenario.cluster);
  check_currency(context, scenario);
  check_faults(context, scenario.cluster);
  check_own_batches(context, scenario);
  if (const auto global = scenario.training.batch.global; global && *global < scenario.workers()) {
    context.problems.add("training.batch.global", "a batch of " + std::to_string(*global) + " leaves some of " +
                                                      std::to_string(scenario.workers()) +
                                                      " workers without a sample; write at least as many samples as workers");
  }
}

/// Without `devices`, only devices that read_cluster added are there.
bool all_built_in(const Scenario& scenario) {
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  return !groups.empty() &&
         std::all_of(groups.begin(), groups.end(), [&](const WorkerGroup& group) { return scenario.devices.contains(group.device); });
}

void require_devices(Section& top) {
  top.require("devices",
              "write devices: {node: {compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}}}, or name built-in devices only: straggler "
              "list devices");
}

/// The section whose key is nearly `devices`, which is reported as unknown; null: none.
const YamlNode* misspelt_devices(const YamlNode& root) {
  for (std::size_t i = 0; i < root.keys.size(); ++i)
    if (meant_key(root.keys[i].name, {"devices"}) == "devices") return &root.items[i];
  return nullptr;
}

Scenario read_tree(const YamlNode& root, const std::filesystem::path& file, const ReadOptions& options, Problems& problems) {
  const Vocabulary& vocabulary = options.vocabulary == nullptr ? Vocabulary::from_registries() : *options.vocabulary;
  ReadContext context{.vocabulary = vocabulary,
                      .problems = problems,
                      .folder = file.parent_path(),
                      .sets_of_file = options.sets_of_file,
                      .sets_folder = options.sets_folder,
                      .memory = options.memory != 0 ? options.memory : usable_memory(),
                      .bytes_per_worker = options.bytes_per_worker};
  Scenario scenario;
  scenario.file = file;
  if (root.type != YamlNode::Type::map) {
    problems.add(
        root.place, {},
        "is " + what_stands(root) + "; write a map that begins with 'straggler: 1' and has devices, cluster, workload and training");
    return scenario;
  }
  Section top(context, &root, "", Place{});
  if (is_of_another_version(top, FileKind::scenario)) return scenario;  // reported: further errors would only repeat it
  read_head(top, scenario);
  const auto part = [&](const char* key, const char* remedy) {
    const YamlNode* node = top.require(key, remedy);
    return std::pair(node != nullptr, Section(context, node, key, top.place_of(key)));
  };
  const YamlNode* devices = top.find("devices");
  if (devices == nullptr) devices = misspelt_devices(root);  // so that their names are known
  if (devices != nullptr) scenario.devices = read_devices(Section(context, devices, "devices", top.place_of("devices")));
  context.devices = &scenario.devices;
  context.devices_given = devices != nullptr;
  if (auto [given, section] =
          part("cluster", "write cluster: {workers: [{count: 8, device: node}], network: {link: {bandwidth: 1Gbps, latency: 50us}}}");
      given)
    scenario.cluster = read_cluster(section);
  if (devices == nullptr && !all_built_in(scenario)) require_devices(top);
  if (auto [given, section] = part("workload", "write workload: {model: {kind: mlp, hidden: [64]}, data: coordinates}"); given)
    scenario.workload = read_workload(section);
  if (auto [given, section] =
          part("training", "write training: {scheme: ssgd, batch: {per_worker: 64}, optimizer: {learning_rate: 0.1}, stop: {epochs: 5}}");
      given)
    scenario.training = read_training(section);
  top.finish();
  check_together(top, scenario);
  return scenario;
}

std::vector<std::string> sources(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  std::vector<std::string> all = {file.string()};
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

/// Without `root` the reason is in `problems`.
Scenario read(std::optional<YamlNode> root, const std::filesystem::path& file, const std::vector<std::string>& sets,
              const ReadOptions& options, const std::shared_ptr<Places>& places, Problems& problems) {
  if (root && !is_of_another_kind(*root, FileKind::scenario, file, problems)) {
    for (std::size_t i = 0; i < sets.size(); ++i) apply_override(*root, sets[i], static_cast<int>(i) + 1, problems);
    const auto whole = std::make_shared<const YamlNode>(std::move(*root));
    places->set_root(whole);
    Scenario scenario = read_tree(*whole, file, options, problems);
    problems.raise();
    scenario.places = places;
    return scenario;
  }
  problems.raise();
  throw std::logic_error("a scenario was neither read nor refused");
}

}  // namespace

Scenario read_scenario(const std::filesystem::path& file, const std::vector<std::string>& sets, const ReadOptions& options) {
  const auto places = std::make_shared<Places>(sources(file, sets));
  Problems problems(*places);
  std::optional<YamlNode> root;
  if (const std::optional<std::string> text = read_text(file, problems)) root = parse_yaml(*text, 0, problems);
  return read(std::move(root), file, sets, options, places, problems);
}

namespace {
std::optional<YamlNode> parsed(std::string text, Problems& problems) {
  return check_text(text, 0, problems) ? parse_yaml(text, 0, problems) : std::nullopt;
}
}  // namespace

ScenarioText::ScenarioText(std::string text, std::filesystem::path file) : text_(std::move(text)), file_(std::move(file)) {
  const Places places({file_.string()});
  Problems problems(places);
  std::optional<YamlNode> root = parsed(text_, problems);
  if (root && !problems.any()) tree_ = std::make_shared<const YamlNode>(std::move(*root));
}

Scenario ScenarioText::read(const std::vector<std::string>& sets, const ReadOptions& options) const {
  const auto places = std::make_shared<Places>(sources(file_, sets));
  Problems problems(*places);
  std::optional<YamlNode> root = tree_ ? *tree_ : parsed(text_, problems);
  return straggler::read(std::move(root), file_, sets, options, places, problems);
}

void throw_error(const Scenario& scenario, std::string_view path, std::string_view what) {
  const Places nowhere({scenario.file.string()});
  const Places& places = scenario.places ? *scenario.places : nowhere;
  throw ScenarioErrors(places.problem(path, what));
}

void check_against_data(const Scenario& scenario, const DataInfo& data) {
  const Places nowhere({scenario.file.string()});
  const Places& places = scenario.places ? *scenario.places : nowhere;
  Problems problems(places);
  const BatchSpec& batch = scenario.training.batch;
  const auto train = static_cast<std::int64_t>(data.train);
  const std::int64_t size = batch.per_worker ? *batch.per_worker : batch.global.value_or(1);
  if (train == 0) return;  // no data: an epoch has no size
  const std::string path = batch.per_worker ? "training.batch.per_worker" : "training.batch.global";
  if (size > train) {
    problems.add(path, "a batch of " + std::to_string(size) + " samples is larger than the data, which has " + std::to_string(train) +
                           " to train on; write at most that");
  }
  for (std::size_t g = 0; g < scenario.cluster.workers.size(); ++g) {
    const WorkerGroup& group = scenario.cluster.workers[g];
    std::int64_t most = group.batch.value_or(0);
    for (const DeviceRow& row : group.rows) most = std::max(most, row.batch);
    if (most > train)
      problems.add("cluster.workers[" + std::to_string(g) + (group.batch == most ? "].batch" : "].population"),
                   "a batch of " + std::to_string(most) + " samples is larger than the data, which has " + std::to_string(train) +
                       " to train on; write at most that");
  }
  problems.raise();
}

}  // namespace straggler
