// training.sharding: states that workers share.
#pragma once
#include "scenarios/schema/part.hpp"

namespace straggler {

Part<ShardingSpec> sharding_part();
void check_sharding(Section& sharding, ShardingSpec& spec);

}  // namespace straggler
