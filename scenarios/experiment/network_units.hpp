// A network cut into consecutive layers: blocks, and the units whose weights are gathered together.
#pragma once
#include <string>
#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/training/sharding.hpp"

namespace straggler {

/// [layers of the table] the name of each one's block; empty: it is in none. A block is one turn of a repeat, a residual, or what a number
/// inside a name tells: "encoder.layer.3" of "encoder.layer.3.output.dense", "layer1.0" of "layer1.0.conv1". Of blocks inside blocks the
/// outermost counts. `architecture`: of the same network; null: it has none.
std::vector<std::string> blocks_of(const CostTable& table, const Architecture* architecture);

/// In the order of forward. Layers without parameters belong to the unit before them.
///  - blocks: each block is a unit, and so are the layers between two blocks;
///  - layers: each layer with parameters;
///  - size: layers join until a unit has at least that many bytes.
/// A table without layers is one unit of `parameters`. `blocks`: as blocks_of returns them.
std::vector<WorkBucket> units_of(const CostTable& table, const std::vector<std::string>& blocks, const ShardingSpec& spec,
                                 std::uint64_t parameters, std::uint64_t number_bytes);

}  // namespace straggler
