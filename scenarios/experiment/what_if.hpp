// Changes of a run that no key of the scenario expresses, for all topologies, schemes and devices.
#pragma once
#include "sim/cluster/changed_links.hpp"

namespace straggler {

struct WhatIf {
  LinkChange links;             // of the network, and between and within the workers of a host
  bool no_contention = false;   // each flow has its narrowest link for itself, under any sharing model
  bool free_servers = false;    // servers and aggregators update, encode and handle messages in no time
  bool newest_weights = false;  // each gradient is taken at the newest weights when it arrives, in the same order (math only)
};

}  // namespace straggler
