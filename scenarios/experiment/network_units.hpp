// A network cut into the units whose weights are gathered together.
#pragma once
#include <cstdint>
#include <vector>

#include "models/zoo/cost_model.hpp"
#include "scenarios/schema/scenario.hpp"
#include "sim/training/sharding.hpp"

namespace straggler {

/// In the order of forward. Layers without parameters belong to the unit before them.
///  - blocks: each block is a unit, and so are the layers between two blocks;
///  - layers: each layer with parameters;
///  - size: layers join until a unit has at least that many bytes.
/// A table without layers is one unit of `parameters`. `backward_flops`: [layers] what backward computes, in any unit.
std::vector<WorkBucket> units_of(const CostTable& table, const std::vector<double>& backward_flops, const ShardingSpec& spec,
                                 std::uint64_t parameters, std::uint64_t number_bytes);

}  // namespace straggler
