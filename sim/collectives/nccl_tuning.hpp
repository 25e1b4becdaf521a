// NCCL's model of its own all-reduce: its algorithm and protocol for a message, and their cost in addition to the links.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler {

enum class NcclAlgorithm { tree, ring, nvls, nvls_tree, pat };
enum class NcclProtocol { ll, ll128, simple };

/// Hosts of a shape, and where their workers are.
struct HostChains {
  explicit HostChains(const CollectiveShape& shape);
  std::size_t hosts() const { return first.size() - 1; }
  std::size_t size(std::size_t host) const { return first[host + 1] - first[host]; }
  std::size_t workers() const { return members.size(); }
  /// Cards of every host: the number of rings or trees that run side by side, each with a share of the message.
  std::size_t channels() const { return cards; }
  /// The chains of a channel: each begins with the first worker of the card by which the channel leaves and enters its host.
  HostChains of_channel(std::size_t channel) const;
  std::vector<std::uint32_t> members;   // [workers]: ranks, host after host, both in ascending order
  std::vector<std::size_t> first;       // [hosts + 1]: where the members of a host begin
  std::vector<std::size_t> host_of;     // [workers]: by rank, the number of its host
  std::size_t most = 0, fewest = 0;     // workers of the largest and of the smallest host
  std::size_t cards = 1, per_card = 0;  // of the host with the fewest; workers that share one (0: all of a host)
};

/// One algorithm with one protocol, for messages of one size: start + Σ rounds (round + latency of a link) + bytes of its busiest link
/// times wire_factor. Between hosts latency_share of the link's latency counts. Seconds.
struct NcclLine {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double start = 0;          // base latency
  double inside_round = 0;   // of the library, for a step inside a host
  double between_round = 0;  // the same for a step between hosts, including its steps inside hosts
  double latency_share = 1;  // of a link between hosts: the rest passes while other pieces flow
  double wire_factor = 1;    // with NVLSTree: inside hosts
  double seconds = 0;        // on these links, with the arithmetic
  double rated = 0;          // the same by NCCL's own model
  std::string name() const;  // "tree, LL128"
};

/// The parameters of the collective `nccl`.
std::vector<Parameter> nccl_parameters();
/// As CollectiveEntry::contradiction.
std::string nccl_contradiction(const Parameters& parameters);

/// All lines that the shape, the links and the parameters allow, in the order of NCCL's table: at least one. Workers: at least 2.
/// `parameters` complete. All-gathers and reduce-scatters are rings, or PAT with `algorithm: any`.
std::vector<NcclLine> nccl_lines(double bytes, const HostChains& chains, const UniformLinks& links, const Parameters& parameters,
                                 CollectiveKind operation = CollectiveKind::all_reduce);
/// The fastest by NCCL's own model; ties go to the first.
NcclLine nccl_choice(double bytes, const HostChains& chains, const UniformLinks& links, const Parameters& parameters,
                     CollectiveKind operation = CollectiveKind::all_reduce);

/// The double binary tree over hosts, in halves of the message: the most that a host sends, and the most that a host adds up.
struct TreeLoad {
  std::size_t sent = 0, added = 0;
};
TreeLoad nccl_tree_load(std::size_t hosts);

}  // namespace straggler
