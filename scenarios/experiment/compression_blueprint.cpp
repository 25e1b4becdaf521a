// The blueprint's part that compresses: what a message does to gradients, and whose.
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

/// Names of the schemes of which some variant sends gradients.
std::string schemes_that_send_gradients() {
  std::vector<std::string> names;
  for (const SchemeVariant& variant : all_scheme_variants())
    if (variant.entry->sends_gradients(variant.parameters) && (names.empty() || names.back() != variant.entry->name))
      names.push_back(variant.entry->name);
  return joined(names);
}

}  // namespace

void Blueprint::resolve_compression(const Scenario& scenario) {
  const Kind& kind = scenario.training.compression;
  compressor = &Registry<CompressorEntry>::instance().at(kind.name);
  if (!compressor->rule) return;
  const Kind& scheme_kind = scenario.training.scheme;
  if (!scheme_entry->sends_gradients(scheme_kind.parameters))
    throw_error(scenario, "training.compression",
                scheme_entry->name +
                    (scheme_entry->exchange(scheme_kind.parameters) == Exchange::none ? " sends nothing" : " sends weights") + "; " +
                    kind.name + " compresses gradients: take none, or a scheme that sends them (" + schemes_that_send_gradients() + ")");
  const Parameters parameters = complete(compressor->parameters, kind.parameters);
  compression = std::make_unique<Compression>();
  compression->rule = compressor->rule;
  compression->scalars = compressor->scalars(parameters);
  compression->draws = compressor->draws;
  compression->bytes = compressor->bytes(compression->scalars, {priced_parameters(), cost.tensors()});
  compression->error_feedback = parameters.flag("error_feedback");
  compression->gathered = compressor->all_reduce == CompressedAllReduce::all_gather;
  plan.compression = compression.get();
}

}  // namespace straggler
