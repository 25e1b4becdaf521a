#include "scenarios/experiment/network_units.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace straggler {

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char each) { return each >= '0' && each <= '9'; });
}

std::string block_of(const std::string& name, const std::set<std::string>& residuals) {
  std::size_t begin = 0;  // of the last part of the prefix
  for (std::size_t end = name.find('.'); end != std::string::npos; begin = end + 1, end = name.find('.', begin)) {
    const std::string prefix = name.substr(0, end);
    if (residuals.contains(prefix) || (begin > 0 && is_number(std::string_view(prefix).substr(begin)))) return prefix;
  }
  return {};
}

/// Consecutive layers of a table.
struct Layers {
  std::string block;
  std::size_t parameters = 0;
  double flops = 0;
};

bool begins_unit(const Layers& last, const CostLayer& layer, const std::string& block, const ShardingSpec& spec, std::uint64_t number_bytes,
                 bool by_blocks) {
  if (by_blocks) return block != last.block;
  if (layer.tensors.empty()) return false;
  if (spec.units == ShardingSpec::Units::size) return static_cast<double>(last.parameters * number_bytes) >= spec.unit_bytes;
  return last.parameters > 0;
}

/// What has no parameters joins the unit before it, or the first one that has some.
void join_empty(std::vector<Layers>& units) {
  std::vector<Layers> joined;
  double before = 0;  // FLOPs ahead of the first parameters
  for (Layers& unit : units) {
    if (unit.parameters > 0) {
      unit.flops += before;
      before = 0;
      joined.push_back(std::move(unit));
    } else if (joined.empty()) {
      before += unit.flops;
    } else {
      joined.back().flops += unit.flops;
    }
  }
  units = std::move(joined);
}

}  // namespace

std::vector<std::string> blocks_of(const CostTable& table, const Architecture* architecture) {
  std::set<std::string> residuals;
  if (architecture)
    for (const LayerSpec& layer : architecture->layers)
      if (layer.is("add")) residuals.insert(layer.name);
  std::vector<std::string> blocks;
  blocks.reserve(table.layers.size());
  for (const CostLayer& layer : table.layers) blocks.push_back(block_of(layer.name, residuals));
  return blocks;
}

std::vector<WorkBucket> units_of(const CostTable& table, const std::vector<std::string>& blocks, const ShardingSpec& spec,
                                 std::uint64_t parameters, std::uint64_t number_bytes) {
  const bool any = std::ranges::any_of(blocks, [](const std::string& block) { return !block.empty(); });
  const bool by_blocks = any && (spec.units == ShardingSpec::Units::automatic || spec.units == ShardingSpec::Units::blocks);
  std::vector<Layers> layers;
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    const CostLayer& layer = table.layers[i];
    if (layers.empty() || begins_unit(layers.back(), layer, blocks[i], spec, number_bytes, by_blocks)) layers.push_back({blocks[i], 0, 0});
    layers.back().parameters += layer.parameters();
    layers.back().flops += layer.forward_flops;
  }
  join_empty(layers);
  if (layers.empty()) layers.push_back({"", parameters, 0});
  double all = 0;
  for (const Layers& unit : layers) all += unit.flops;
  for (Layers& unit : layers)
    if (all == 0) unit.flops = 1;
  if (all == 0) all = static_cast<double>(layers.size());
  std::vector<WorkBucket> units;
  double done = 0;
  for (const Layers& unit : layers) {
    const double left = all - done;
    done += unit.flops;
    units.push_back({unit.parameters * number_bytes, unit.parameters, std::min(1.0, done / all), std::max(0.0, left / all)});
  }
  units.front().backward_until = 1;
  units.back().forward_until = 1;
  return units;
}

}  // namespace straggler
