// Facts of github.com/NVIDIA/nccl, src/graph/tuning.cc, as figures:
//   2.8: commit 01afd20a, about NCCL 2.8 to 2.9.  2.30: commit 5067397c, NCCL 2.30.7.
// Per algorithm and protocol: a base latency, a latency of a step (NVLink, PCIe, network), and a share of the bus's bandwidth.
// Not taken over: CollNet, and NVLS over several hosts with it; limits of a channel unless `channels` says how many there are.
#pragma once
#include <cstddef>
#include <limits>
#include <vector>

namespace straggler::nccl_facts {

inline constexpr double no_limit = std::numeric_limits<double>::infinity();
// Tree, ring; LL, LL128, Simple; Volta, Ampere, Hopper, Blackwell.
inline constexpr std::size_t algorithms = 2, protocols = 3, generations = 4;
inline constexpr double us = 1e-6, gb = 1e9;

using ByProtocol = double[protocols];
using ByAlgorithm = ByProtocol[algorithms];

struct Constants {
  ByAlgorithm base, nvlink, pcie, network;  // us
  // By protocol: powers of two from 64 B on. The tree's bandwidth at medium sizes; 1 beyond the last.
  std::vector<std::vector<double>> tree_correction;
  double tree_share;                                                                                         // of the bus's bandwidth
  double tree_ll, tree_ll128_one_host, tree_ll128_hosts;                                                     // of the tree's
  double ring_ll, ring_ll128;                                                                                // of the bus's
  double channel_ring_ll128[generations], channel_tree_ll128[generations][3], channel_tree[generations][3];  // GB/s; 1, 2, more hosts
};

/// Those of 2.8 and of 2.30.
const Constants& constants_2_8();
const Constants& constants_2_30();

// Of 2.8 alone. GB/s of a tree at most, other protocols and Volta first, then LL128 on Ampere: on up to two hosts, on more.
inline constexpr double tree_most[2][2] = {{110, 80}, {130, 105}};
inline constexpr double lonely_ring_ll128 = 0.7;            // share of a ring with LL128 where hosts have fewer than two GPUs on average
inline constexpr double half_ring_ll = 1.0 / 3;             // the same with LL, of an all-gather or a reduce-scatter in one host
inline constexpr double half_ring_ll128[2] = {15.2, 18.3};  // GB/s a channel with LL128: of a reduce-scatter, of an all-gather
inline constexpr double ll_over_hosts = 1.8;                // times the latency of LL's steps inside hosts, where a ring crosses hosts
// Long messages start more slowly: from a certain size on, a ring over hosts with Simple has its latencies times this factor.
inline constexpr double simple_over_hosts = 1.9, simple_over_hosts_since_ampere = 1.4;

// From here on of 2.30 alone. GB/s that LL reaches at most: in one host by the GPU; on two, and on more, as with Intel's processors.
inline constexpr double ll_most_one_host[generations] = {39.0, 87.7, 141.0, 282.0};
inline constexpr double ll_most_two_hosts = 39.0, ll_most_hosts = 20.4;
inline constexpr double nvls_share[generations] = {0, 0, 0.85, 0.74};
inline constexpr double nvls_latency = 25, nvls_tree_network = 20.9;
// GB/s of NVLSTree at most, of each GPU of a host that is in charge of a share: on two hosts, on more.
inline constexpr double head_nvls_tree[generations][2] = {{0, 0}, {0, 0}, {57.7, 45.5}, {96, 80}};
inline constexpr std::size_t most_without_nvls = 2;  // GPUs of a host
// PAT: us at first, and for each rank; a level's share of a tree's step between hosts; share of the bus.
inline constexpr double pat_base = 8, pat_rank = 2.8, pat_level = 1 / 3.5, pat_share = 0.75;
// In a ring over hosts, a step inside a host costs at least as much as posting to the network.
inline constexpr double posting = 1.0, posting_simple = 3.0;

}  // namespace straggler::nccl_facts
