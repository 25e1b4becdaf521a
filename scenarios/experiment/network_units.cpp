#include "scenarios/experiment/network_units.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace straggler {

namespace {

/// Consecutive layers of a table.
struct Layers {
  std::string block;
  std::size_t parameters = 0;
  double forward = 0, backward = 0;  // FLOPs
  void add(const Layers& other) {
    parameters += other.parameters;
    forward += other.forward;
    backward += other.backward;
  }
};

bool begins_unit(const Layers& last, const CostLayer& layer, const ShardingSpec& spec, std::uint64_t number_bytes, bool by_blocks) {
  if (by_blocks) return layer.block != last.block;
  if (layer.tensors.empty()) return false;
  if (spec.units == ShardingSpec::Units::size) return static_cast<double>(last.parameters * number_bytes) >= spec.unit_bytes;
  return last.parameters > 0;
}

/// What has no parameters joins the unit before it, or the first one that has some.
void join_empty(std::vector<Layers>& units) {
  std::vector<Layers> joined;
  Layers before;  // ahead of the first parameters
  for (Layers& unit : units) {
    if (unit.parameters > 0) {
      unit.add(std::exchange(before, {}));
      joined.push_back(std::move(unit));
    } else {
      (joined.empty() ? before : joined.back()).add(unit);
    }
  }
  units = std::move(joined);
}

}  // namespace

std::vector<WorkBucket> units_of(const CostTable& table, const std::vector<double>& backward_flops, const ShardingSpec& spec,
                                 std::uint64_t parameters, std::uint64_t number_bytes) {
  const bool any = std::ranges::any_of(table.layers, [](const CostLayer& layer) { return !layer.block.empty(); });
  const bool by_blocks = any && (spec.units == ShardingSpec::Units::automatic || spec.units == ShardingSpec::Units::blocks);
  std::vector<Layers> layers;
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    const CostLayer& layer = table.layers[i];
    if (layers.empty() || begins_unit(layers.back(), layer, spec, number_bytes, by_blocks)) layers.push_back({layer.block});
    layers.back().add({"", layer.parameters(), layer.forward_flops, backward_flops[i]});
  }
  join_empty(layers);
  if (layers.empty()) layers.push_back({"", parameters});
  Layers all;
  for (const Layers& unit : layers) all.add(unit);
  if (all.forward == 0) {
    all.forward = all.backward = static_cast<double>(layers.size());
    for (Layers& unit : layers) unit.forward = unit.backward = 1;
  }
  std::vector<WorkBucket> units;
  Layers done;
  for (const Layers& unit : layers) {
    const double left = all.backward - done.backward;
    done.add(unit);
    units.push_back(
        {unit.parameters * number_bytes, unit.parameters, std::min(1.0, done.forward / all.forward), std::max(0.0, left / all.backward)});
  }
  units.front().backward_until = 1;
  units.back().forward_until = 1;
  return units;
}

}  // namespace straggler
