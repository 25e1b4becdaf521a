// What the processes of a run say to each other. Rank 0 runs the simulation and writes; the others compute for it.
//
// Invariants:
//  - The first message of a rank is its offer. Without the token it is answered by `refused`, and the connection ends.
//  - A value has a key. Rank 0 knows which values each rank holds: it sends those that are missing before the work that needs them, and
//    says which to drop. A rank also holds the outputs of its chains.
//  - Work has a number, which its result repeats.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/executor/remote.hpp"
#include "scenarios/ranks/rank_identity.hpp"
#include "sim/base/packing.hpp"

namespace straggler {

/// The first byte of a message.
enum class RankTalk : std::uint8_t {
  // from rank 0
  refused,  // why
  set_up,   // kernels, threads
  value,    // key, floats
  drop,     // keys
  chain,    // number, a RemoteChain without values
  chunk,    // number, key of the weights, set, chunk
  leave,    // exit code: the run is over
  // to rank 0
  offer,      // RankOffer
  ready,      // root of its lineage, length of its vectors
  unable,     // why it cannot take part
  computed,   // number, the outputs
  evaluated,  // number, loss, correct
  failed,     // its own error
  interrupt,  // this rank was asked to end the run
  alive,      // both ways, every second
};

/// A rank that presents itself.
struct RankOffer {
  std::string token;
  std::uint32_t rank = 0;
  RankIdentity identity;
  std::vector<std::string> kernels;  // that its processor has, slowest first
  Key machine;                       // of this start of the system
  std::vector<std::byte> cores;      // on which it may run: sched_getaffinity's set
  std::uint32_t quota = 0;           // core_quota()
};
/// Of this process, without a token.
RankOffer offer_of_this_process(std::uint32_t rank, const RankIdentity& identity);

/// A message that starts with that word.
Packer message(RankTalk what);
void put_offer(Packer& to, const RankOffer& offer);
RankOffer get_offer(Unpacker& from);
void put_chain(Packer& to, const RemoteChain& chain);

/// A chain that owns its formulas.
struct ReceivedChain {
  RemoteChain chain;
  std::vector<std::unique_ptr<Formula>> formulas;
};
/// `rules`: those that occurred so far, by name; they outlive the formulas. Throws std::logic_error if it is none.
ReceivedChain get_chain(Unpacker& from, std::map<std::string, Rule>& rules);

/// Where rank 0 listens: a file that only its user can read, which other ranks find by its name.
struct RankAddress {
  std::uint16_t port = 0;
  std::string token;
  std::vector<std::string> addresses;
};
/// Throws std::system_error, std::filesystem::filesystem_error.
void write_address(const std::filesystem::path& file, const RankAddress& address);
/// None: there is none, or it is not whole.
std::optional<RankAddress> read_address(const std::filesystem::path& file);

}  // namespace straggler
