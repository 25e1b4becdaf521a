// Algorithms of all-reduces, all-gathers and reduce-scatters: one file each. Each is a schedule with two fidelities: stepwise, where each
// message is a flow, and fluid, where the whole collective is one. They must agree without other traffic on the links.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/base/registry.hpp"
#include "sim/collectives/schedule.hpp"

namespace straggler {

/// all_reduce: each rank brings a vector, and all get the sum. all_gather: each brings a block, and all get all of them. reduce_scatter:
/// each brings a vector, and gets a block of the sum.
enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter };
/// "all-reduce"
const char* name_of(CollectiveKind kind);

/// Who takes part.
struct CollectiveShape {
  std::size_t workers = 1, servers = 0;
  std::vector<std::uint32_t> host_of;      // [workers]; empty: each on a host of its own
  std::size_t workers_per_card = 0;        // this many neighbours of a host share a network card; 0: each host has one
  std::vector<std::uint64_t> blocks = {};  // [workers] bytes of each one's block of an all-gather or a reduce-scatter; empty: equal shares
  /// The share of the bytes of its `on_host` workers, all equal, that the fullest card carries.
  double card_share(std::size_t on_host) const {
    if (workers_per_card == 0 || workers_per_card >= on_host) return 1;
    return static_cast<double>(workers_per_card) / static_cast<double>(on_host);
  }
  std::uint32_t host(std::size_t worker) const { return host_of.empty() ? static_cast<std::uint32_t>(worker) : host_of[worker]; }
};

/// Uniform links without contention: seconds per message, per byte, per byte of arithmetic.
struct UniformLinks {
  double alpha = 0, beta = 0, gamma = 0;
  double intra_alpha = 0, intra_beta = 0;  // inside a host, where several ranks share its link
};

/// `bytes`: of the whole vector, all blocks together.
struct CollectiveEntry {
  std::string name, summary, reference;
  CollectiveKind operation = CollectiveKind::all_reduce;
  DeclaredParameters parameters;
  /// It models a library, which chooses among algorithms for each message: `auto` leaves it out.
  bool library = false;
  /// A library's choice for a message ("tree, LL128").
  std::function<std::string(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&)> choice = {};
  /// Seconds by the formula of docs/model.md.
  std::function<double(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&)> seconds;
  /// Whether `seconds` is exact for this shape; otherwise it is an approximation that stepwise need not match.
  std::function<bool(const CollectiveShape& shape)> exact = [](const CollectiveShape&) { return true; };
  /// Empty: runs on any shape. Otherwise what is missing ("needs a parameter server; add cluster.servers: {count: 1}").
  std::function<std::string(const CollectiveShape& shape)> unfit = [](const CollectiveShape&) { return std::string(); };
  /// Empty: its parameters go together. Otherwise what is wrong, and what would be right ("2.4 has no LL128; use ...").
  std::function<std::string(const Parameters&)> contradiction = [](const Parameters&) { return std::string(); };
  /// `links`: for algorithms that derive a number of pieces from them; zeros if unknown.
  std::function<std::unique_ptr<CollectiveSchedule>(std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks& links,
                                                    const Parameters&)>
      make;
};

/// The algorithms of an operation. An algorithm has one name in all of them: the ring all-reduce is a ring reduce-scatter and a ring
/// all-gather.
Registry<CollectiveEntry>& algorithms_of(CollectiveKind operation);
/// For entries of any operation, as Register.
struct RegisterCollective {
  explicit RegisterCollective(CollectiveEntry entry) { algorithms_of(entry.operation).add(std::move(entry)); }
};

}  // namespace straggler
