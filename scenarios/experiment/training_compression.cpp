// The blueprint's compression: its effect on messages with gradients and weights, and whose messages it compresses.
#include <fmt/core.h>

#include "scenarios/experiment/training_blueprint.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

/// Parameters that a scheme needs with compression are required with it and refused without.
void check_parameters(const Scenario& scenario, const SchemeEntry& entry, bool compresses) {
  for (const auto& [name, value] : entry.with_compression) {
    if (scenario.training.scheme.parameters.has(name) == compresses) continue;
    throw_error(scenario, "training.scheme." + name,
                compresses ? fmt::format("{} needs it with training.compression; write {}: {}, or the like", entry.name, name, value)
                           : entry.name + " takes it only with training.compression; remove it, or compress messages");
  }
}

}  // namespace

/// Prices come from one model, and another may be trained: if either has a matrix to factor, all messages are of factors.
void TrainingBlueprint::resolve_factors(const Scenario& scenario, const VectorLayout& priced) {
  if (!compressor->factors) return;
  if (priced.tensors.empty())
    throw_error(scenario, "training.compression",
                compressor->name +
                    " factors matrices, and workload.cost.bytes has none; write workload.cost: {model: NAME}, or use another "
                    "compression");
  compression->right_bytes = compressor->right_bytes(compression->scalars, priced);
  bool factors = compression->right_bytes > 0;
  if (model) {
    const std::vector<TensorInfo> learned = model->tensors();
    factors = factors || compressor->right_bytes(compression->scalars, {model->parameters(), learned}) > 0;
  }
  if (factors) compression->factors = compressor->factors;
}

void TrainingBlueprint::resolve_compression(const Scenario& scenario) {
  const Kind& kind = scenario.training.compression;
  compressor = &Registry<CompressorEntry>::instance().at(kind.name);
  check_parameters(scenario, *scheme_entry, compressor->rule != nullptr);
  if (!compressor->rule) return;
  const Parameters& of_scheme = scenario.training.scheme.parameters;
  const Exchange exchange = scheme_entry->exchange(of_scheme);
  if (!scheme_entry->compressible(of_scheme))
    throw_error(scenario, "training.compression",
                scheme_entry->name + " " +
                    (exchange == Exchange::none ? "sends nothing that " + kind.name + " could compress; take none"
                                                : scheme_entry->not_compressible));
  if (plan.weighs_batches)
    throw_error(scenario, "training.compression",
                kind.name +
                    " messages are averaged without weights, and batches that differ count by their size; give all workers one "
                    "batch, or remove the compression");
  Parameters parameters = complete(compressor->parameters, kind.parameters);
  // A gossip message contains the earlier residual, as with error feedback.
  if (!scheme_entry->sends_gradients(of_scheme) && exchange != Exchange::peers && compressor->size_is_lost &&
      compressor->size_is_lost(parameters))
    throw_error(
        scenario, "training.compression.error_feedback",
        kind.name + " without it does not tell how far weights have moved, and " + scheme_entry->name + " sends weights; write true");
  const std::vector<TensorInfo> tensors = cost.tensors();
  const std::uint64_t priced = priced_parameters();
  compression = std::make_unique<Compression>();
  compression->rule = compressor->rule;
  compression->scalars = compressor->scalars(parameters);
  compression->draws = compressor->draws;
  compression->bytes = compressor->bytes(compression->scalars, {priced, tensors});
  compression->error_feedback = parameters.flag("error_feedback");
  compression->gathered = compressor->all_reduce == CompressedAllReduce::all_gather;
  resolve_factors(scenario, {priced, tensors});
  if (compressor->vote) compression->vote = compressor->vote(compression->scalars);
  compression->in_pieces = &compressed_pieces;
  compression->name = number_of(*compressor);
  compression->fragment_bytes = [entry = compressor, scalars = compression->scalars, priced, tensors](const Fragment& fragment) {
    const std::uint64_t begin = priced * fragment.index / fragment.count, end = priced * (fragment.index + 1) / fragment.count;
    const std::vector<TensorInfo> within = tensors_within(tensors, begin, end);
    return entry->bytes(scalars, {end - begin, within});
  };
  compression->exchange.of_weights = !scheme_entry->sends_gradients(of_scheme);
  compression->exchange.gossips = exchange == Exchange::peers && compression->exchange.of_weights;
  // An all-reduce has no answers, and gossip has none.
  compression->exchange.answers = compresses_answers(parameters) &&
                                  (exchange == Exchange::server || (exchange == Exchange::peers && !compression->exchange.of_weights));
  compression->exchange.all_begin = !scheme_entry->invites;
  compression->exchange.common_versions = exchange == Exchange::all_reduce;
  parameters.set("error_feedback", true);
  compression->tracking.scalars = compressor->scalars(parameters);
  compression->tracking.bytes = compressor->bytes(compression->tracking.scalars, {priced, tensors});
  plan.compression = compression.get();
}

}  // namespace straggler
