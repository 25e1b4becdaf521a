#include "scenarios/experiment/uncompressed.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

Scenario uncompressed(Scenario scenario) {
  scenario.training.compression = Kind{"none", {}};
  Kind& scheme = scenario.training.scheme;
  const ParameterTexts& refused = Registry<SchemeEntry>::instance().at(scheme.name).with_compression;
  Parameters kept;
  for (const auto& [name, value] : scheme.parameters.all())
    if (std::ranges::none_of(refused, [&name = name](const auto& each) { return each.first == name; })) kept.set(name, value);
  scheme.parameters = std::move(kept);
  return scenario;
}

}  // namespace straggler
