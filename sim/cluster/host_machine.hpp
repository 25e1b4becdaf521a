// Built-in machines: the inside of known hosts, each figure with its source. One file per machine.
#pragma once
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

struct HostMachine {
  /// A level of switches, or NVLink (Placement::Level).
  struct Level {
    int workers = 0;       // 0: there is none
    double bandwidth = 0;  // bytes per second, of each direction
    double latency = 0;    // seconds
  };
  std::string name, summary;
  double bandwidth = 0;        // bytes per second: of a worker's own links
  double latency = 0;          // seconds, between two workers of one switch
  double while_computing = 1;  // share of a worker's own links that is left while it computes
  Level pcie_switch = {}, socket = {}, nvlink = {};
  std::string source;
  DeclaredParameters parameters = {};  // none: for the registry
};

}  // namespace straggler
