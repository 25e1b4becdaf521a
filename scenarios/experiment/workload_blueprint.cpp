#include "scenarios/experiment/workload_blueprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/optimizers/optimizer.hpp"
#include "models/zoo/network.hpp"
#include "scenarios/experiment/at_place.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/node.hpp"

namespace straggler {

namespace {

Numerics numerics_of(const Scenario& scenario) {
  const WorkloadSpec& spec = scenario.workload;
  Numerics numerics;
  if (spec.precision == NumberFormat::fp16 || spec.precision == NumberFormat::mixed) numerics.precision = Precision::fp16;
  if (spec.precision == NumberFormat::bf16) numerics.precision = Precision::bf16;
  numerics.loss_scale = static_cast<float>(spec.loss_scale);
  numerics.growth_every = static_cast<std::uint32_t>(spec.growth_every);
  const auto registers_of = [](const std::string& kind) { return Registry<OptimizerEntry>::instance().at(kind).registers; };
  numerics.optimizer_registers = registers_of(scenario.training.optimizer.name);
  const Kind& scheme = scenario.training.scheme;
  if (const auto outer = Registry<SchemeEntry>::instance().at(scheme.name).outer_optimizer(scheme.parameters))
    numerics.optimizer_registers = std::max(numerics.optimizer_registers, registers_of(outer->kind));
  return numerics;
}

Hasher& add(Hasher& hasher, const Kind& kind) {
  hasher.add(kind.name);
  for (const auto& [name, value] : kind.parameters.all()) add(hasher.add(name), value);
  return hasher;
}

/// Far beyond any model: products with bytes and copies still fit into 64 bits.
constexpr double most_parameters = 1e13;

/// Counted from the shapes, since a product of widths may not fit into 64 bits.
void check_size(const Model& model) {
  double parameters = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    double size = 1;
    for (const std::size_t width : tensor.shape) size *= static_cast<double>(width);
    parameters += size;
  }
  if (!(parameters <= most_parameters))
    throw std::invalid_argument(fmt::format("has {:.3g} parameters; write a model of at most {:.0e}", parameters, most_parameters));
}

/// Says where in the scenario the data was named whose files are wrong.
template <class Read>
auto with_data_place(const Scenario& scenario, const Read& read) {
  try {
    return read();
  } catch (const DataError& wrong) {
    const Parameters& parameters = scenario.workload.data.parameters;
    const std::string key = !wrong.key.empty() ? wrong.key : "path";
    throw_error(scenario, parameters.has(key) ? "workload.data." + key : "workload.data", wrong.what());
  }
}

bool holds_out_validation(const Scenario& scenario) { return scenario.training.evaluate.split == EvaluateSpec::Split::validation; }

}  // namespace

WorkloadBlueprint::WorkloadBlueprint(const Scenario& scenario, const std::string& kernel_set)
    : data_entry(&Registry<DataEntry>::instance().at(scenario.workload.data.name)),
      partition_entry(&Registry<PartitionEntry>::instance().at(scenario.workload.partition.name)),
      kernels(&select_kernels(kernel_set)),
      base(scenario.file.parent_path()),
      numerics(numerics_of(scenario)) {
  resolve_data(scenario);
  resolve_model(scenario);
  resolve_cost(scenario);
  resolve_recompute(scenario);
  resolve_times(scenario);
  resolve_batches(scenario);
  resolve_streams(scenario);
}

Dataset WorkloadBlueprint::load_data(const Scenario& scenario, unsigned threads) const {
  Dataset loaded =
      with_data_place(scenario, [&] { return data_entry->load(scenario.workload.data.parameters, base, scenario.seed, threads); });
  if (holds_out_validation(scenario)) hold_out_validation(loaded, validation_share, scenario.seed);
  loaded.augment = augment;
  return loaded;
}

std::vector<std::filesystem::path> WorkloadBlueprint::data_files(const Scenario& scenario) const {
  if (!data_entry->files) return {};
  return with_data_place(scenario, [&] { return data_entry->files(scenario.workload.data.parameters, base); });
}

Key WorkloadBlueprint::data_content(const Scenario& scenario) const {
  const Key content =
      with_data_place(scenario, [&] { return content_of(*data_entry, scenario.workload.data.parameters, base, scenario.seed); });
  if (!holds_out_validation(scenario)) return content;
  return Hasher().add(content).add("validation").add(validation_share).add(scenario.seed).key();
}

void WorkloadBlueprint::resolve_data(const Scenario& scenario) {
  data = with_data_place(scenario, [&] {
    const Parameters& parameters = scenario.workload.data.parameters;
    return data_entry->inspect_seeded ? data_entry->inspect_seeded(parameters, base, scenario.seed) : data_entry->inspect(parameters, base);
  });
  notes = data.notes;
  if (holds_out_validation(scenario) && has_data())
    data.train = at_place(scenario, "workload.data", [&] { return kept_for_training(data.train, data.overlap, validation_share); });
  check_against_data(scenario, data);
  augment = {static_cast<std::size_t>(scenario.workload.augment.crop), scenario.workload.augment.flip};
  at_place(scenario, "workload.data.augment", [&] {
    check_augmentation(augment, data.shape);
    return 0;
  });
}

/// A model of these data. Throws std::invalid_argument if its sizes overflow.
std::unique_ptr<Model> WorkloadBlueprint::make_model(const Kind& kind, std::uint64_t seed) const {
  const ModelSetting setting{.kernels = *kernels, .precision = numerics.precision, .seed = seed};
  auto made = Registry<ModelEntry>::instance().at(kind.name).make(kind.parameters, data, setting);
  check_size(*made);
  return made;
}

namespace {

/// The engine that this process cannot use for the network; null: there is none, or the scenario names an engine.
const NetworkEngine* faster_engine(const WorkloadBlueprint& workload, const Scenario& scenario) {
  const Parameters& given = scenario.workload.model.parameters;
  const Architecture* const architecture = workload.model ? workload.model->architecture() : nullptr;
  if (!architecture || (given.has("engine") && given.text("engine") != "auto")) return nullptr;
  return passed_over(*architecture, ModelSetting{*workload.kernels, workload.numerics.precision}, workload.model->engine());
}

/// ", but 'onednn' would without the dropout of the line '3'"; empty where no kind of layer alone is at fault.
std::string text_of_hindrance(const WorkloadBlueprint& workload) {
  const Architecture* const architecture = workload.model->architecture();
  if (!architecture) return {};
  const auto found = hindrance(*architecture, ModelSetting{*workload.kernels, workload.numerics.precision});
  return found ? fmt::format(", but '{}' would without {} (the line '{}')", found->faster->name, found->layer->entry->name,
                             found->layer->name)
               : std::string();
}

}  // namespace

/// The trained model, if there are samples.
void WorkloadBlueprint::resolve_model(const Scenario& scenario) {
  if (!has_data()) return;
  model = at_place(scenario, "workload.model", [&] {
    const ModelEntry& entry = Registry<ModelEntry>::instance().at(scenario.workload.model.name);
    if (data.vocabulary && !entry.words)
      throw std::invalid_argument(entry.name + " does not learn from pairs of words, which data " + scenario.workload.data.name +
                                  " has; use model skipgram, or other data");
    if (data.symbols > 0 && !entry.symbols && !entry.words)
      throw std::invalid_argument(
          fmt::format("{} learns from measures, and data {} are symbols of a vocabulary of {}; use model layers, "
                      "beginning with {{embedding: WIDTH, rows: vocabulary}}, or other data",
                      entry.name, scenario.workload.data.name, data.symbols));
    return make_model(scenario.workload.model, scenario.seed);
  });
  const Parameters& given = scenario.workload.model.parameters;
  const NetworkEngine* const engine = Registry<NetworkEngine>::instance().find(model->engine());
  if (const NetworkEngine* const passed = faster_engine(*this, scenario))
    training_notes.push_back(
        fmt::format("workload.model: '{}' computes this network, not '{}': another library of this process, such as "
                    "PyTorch, has set up oneDNN before; the results differ by rounding from those of a process without it",
                    model->engine(), passed->name));
  else if (engine && engine->plain && !(given.has("engine") && given.text("engine") == engine->name))
    training_notes.push_back(fmt::format("workload.model: no fast engine computes this network with the kernels '{}'{}: '{}' trains it, {}",
                                         kernels->name, text_of_hindrance(*this), engine->name, engine->summary));
  if (const Architecture* const network = model->architecture(); network && data.symbols > 0)
    for (const LayerSpec& layer : network->layers)
      if (layer.is("attention") && !layer.parameters.flag("causal"))
        training_notes.push_back(fmt::format(
            "workload.model: the attention '{}' is not causal, so each place sees the symbol that it predicts; set causal: true",
            layer.name));
  if (scenario.workload.weights.empty()) return;
  try {
    start = read_model_weights(scenario.workload.weights, *model, scenario.seed);
  } catch (const DataError& wrong) {
    throw_error(scenario, "workload.model.weights", wrong.what());
  }
  if (!start.absent.empty())
    notes.push_back(fmt::format("{} lacks {} of the model's running statistics (the first is '{}'): they start as without a file",
                                scenario.workload.weights, start.absent.size(), start.absent.front()));
}

namespace {

bool counts_flops(const Scenario& scenario) {
  return std::ranges::any_of(scenario.cluster.workers, [&](const WorkerGroup& group) {
    return scenario.devices.at(group.device).compute.form == ComputeSpec::Form::roofline;
  });
}

}  // namespace

void WorkloadBlueprint::resolve_cost(const Scenario& scenario) {
  const CostSpec& spec = scenario.workload.cost;
  if (spec.bytes) {
    model_bytes = static_cast<std::uint64_t>(*spec.bytes);
    cost.input_bytes = 4 * static_cast<double>(data.features);
    return;
  }
  at_place(scenario, spec.model ? "workload.cost.model" : "workload.model", [&] {
    const Kind& kind = spec.model ? *spec.model : scenario.workload.model;
    const ModelEntry& entry = Registry<ModelEntry>::instance().at(kind.name);
    if (spec.model && entry.has_own_cost()) {
      try {
        cost = cost_table(entry, kind.parameters);
      } catch (const DataError& wrong) {
        throw_error(scenario, "workload.cost.model." + (wrong.key.empty() ? "path" : wrong.key), wrong.what());
      }
      notes.insert(notes.end(), cost.notes.begin(), cost.notes.end());
    } else {
      if (!has_data())
        throw std::invalid_argument("the cost of " + entry.name +
                                    " follows from the shape of its samples, and there is no data; name data, " +
                                    "or a model with a list of layers, such as resnet50_imagenet");
      cost = cost_table(*make_model(kind, scenario.seed));
      cost.input_bytes = 4 * static_cast<double>(data.features);
      if (counts_flops(scenario)) notes.insert(notes.end(), cost.notes.begin(), cost.notes.end());
    }
    return 0;
  });
  model_bytes = number_bytes() * cost.parameters();
  if (scenario.workload.exchange_statistics) statistics_bytes = 4 * cost.statistics;
}

void WorkloadBlueprint::resolve_recompute(const Scenario& scenario) {
  recompute = scenario.workload.recompute;
  if (recompute == Recompute::none) return;
  constexpr const char* place = "workload.recompute";
  if (cost.layers.empty())
    throw_error(scenario, place, "is of a model's layers, which workload.cost.bytes does not have; write workload.cost: {model: NAME}");
  recomputed = recomputed_share(cost, recompute);
  if (recompute == Recompute::attention && recomputed == 0)
    throw_error(scenario, place, "is attention, of which no layer of this model is known; write blocks, or none");
}

std::vector<double> WorkloadBlueprint::backward_flops(const DeviceSpec& device) const {
  std::vector<double> flops;
  for (const CostLayer& layer : cost.layers) flops.push_back(layer.forward_flops);
  if (recomputed == 0 || cost.forward_flops() == 0) return flops;
  const std::vector<double> again = recomputed_flops(cost, recompute);
  const double forward = device.compute.forward_fraction;
  for (std::size_t layer = 0; layer < flops.size(); ++layer) flops[layer] += forward / (1 - forward) * again[layer];
  return flops;
}

PartitionRequest WorkloadBlueprint::partition_request(const Scenario& scenario) const {
  PartitionRequest request;
  request.seed = scenario.seed;
  request.workers = static_cast<std::size_t>(scenario.workers());
  request.samples = data.train;
  request.classes = data.classes;
  request.one_label = data.symbols == 0;
  request.reshuffle = scenario.workload.reshuffle;
  if (batches.are_stated())
    for (Rank worker = 0; index_of(worker) < request.workers; ++worker)
      request.batches.push_back(static_cast<std::uint64_t>(batches.of(worker)));
  return request;
}

void WorkloadBlueprint::resolve_streams(const Scenario& scenario) {
  if (!has_data()) return;
  streams = at_place(scenario, "workload.data.partition",
                     [&] { return partition_entry->sizes(scenario.workload.partition.parameters, partition_request(scenario)); });
}

template <class Part>
void WorkloadBlueprint::for_root(const Scenario& scenario, const std::optional<Key>& content, const Part& part) const {
  const WorkloadSpec& spec = scenario.workload;
  part("seed", [&](Hasher& to) { to.add("straggler root").add(scenario.seed); });
  part("kernel set", [&](Hasher& to) { to.add(kernels->name); });
  part("workload.data", [&](Hasher& to) {
    if (content)
      to.add(*content);
    else
      add(to, spec.data);
  });
  part("workload.data.partition", [&](Hasher& to) {
    if (streams.content != Key{})
      to.add(spec.partition.name).add(streams.content);
    else
      add(to, spec.partition);
  });
  part("number of workers", [&](Hasher& to) { to.add(static_cast<std::uint64_t>(scenario.workers())); });
  part("batches of the workers", [&](Hasher& to) {
    // Of parts in proportion to the batches.
    if (batches.are_stated() && !streams.shared && spec.partition.name == "iid")
      for (const std::uint64_t size : streams.sizes) to.add(size);
  });
  part("workload.data.reshuffle", [&](Hasher& to) { to.add(std::uint64_t{spec.reshuffle}); });
  part("workload.data.augment", [&](Hasher& to) {
    if (augment.any()) to.add("augment").add(std::uint64_t{augment.crop}).add(std::uint64_t{augment.flip});
  });
  // fp32 adds none of these, so that its keys stay the same.
  const bool narrow = numerics.precision != Precision::fp32;
  part("workload.precision", [&](Hasher& to) {
    if (narrow) to.add(precision_choice.name_of(spec.precision));
  });
  part("workload.loss_scale", [&](Hasher& to) {
    if (narrow) to.add(spec.loss_scale).add(std::uint64_t{numerics.growth_every});
  });
  part("workload.batch_norm.exchange", [&](Hasher& to) {
    if (model && model->statistics() > 0) to.add("batch_norm").add(std::uint64_t{spec.exchange_statistics});
  });
  part("workload.model.weights", [&](Hasher& to) {
    if (!start.values.empty()) to.add("weights").add_bytes(start.values.data(), start.values.size() * sizeof(float));
  });
  part("workload.model", [&](Hasher& to) {
    add(to, spec.model);
    if (model)
      if (const auto& content_of_model = Registry<ModelEntry>::instance().at(spec.model.name).content)
        to.add(content_of_model(spec.model.parameters, scenario.seed));
    if (faster_engine(*this, scenario)) to.add("engine").add(model->engine());
  });
}

Key WorkloadBlueprint::root_key(const Scenario& scenario, const std::optional<Key>& content) const {
  Hasher hasher;
  for_root(scenario, content, [&](const char* /*place*/, const auto& add_part) { add_part(hasher); });
  return hasher.key();
}

std::vector<RootPart> WorkloadBlueprint::root_parts(const Scenario& scenario, const std::optional<Key>& content) const {
  std::vector<RootPart> parts;
  for_root(scenario, content, [&](const char* place, const auto& add_part) {
    Hasher hasher;
    add_part(hasher);
    parts.push_back({place, hasher.key()});
  });
  return parts;
}

}  // namespace straggler
