// The cluster for the simulated back end: names resolved, units converted.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "sim/cluster/availability.hpp"
#include "sim/cluster/compute_plan.hpp"
#include "sim/cluster/fault_process.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/collectives/buckets.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/costs.hpp"
#include "sim/record/costs.hpp"
#include "sim/simulated/recovery_settings.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

/// A fault and its time.
struct Fault {
  enum class Kind { crash, slow, link, join, leave } kind = Kind::crash;
  Rank worker = -1;                // the worker that it hits, except for Kind::link
  Time at;                         // crash, join, leave; slow, link: the beginning
  std::optional<Time> until;       // crash: when it restarts (none: never); slow, link: the end
  double factor = 1;               // slow: times slower; link: times its bandwidth
  std::vector<LinkId> links = {};  // Kind::link
};

/// A flow between two ranks that is on for a while and off for a while.
struct BackgroundTraffic {
  Rank from = 0, to = 0;
  Time start, on, off;
  bool random = false;               // on and off are means of exponential draws
  double most_bytes_per_second = 0;  // 0: its fair share
};

/// A link that lets bursts pass (Network::set_bucket).
struct TokenBucket {
  LinkId link = 0;
  double burst_bytes = 0, peak_bytes_per_second = 0;
};

/// Jitter of the bandwidth of hosts' own links: a factor per link and span. Mean 1, of the time per byte.
struct LinkJitter {
  std::function<std::unique_ptr<Jitter>(Rank card)> make;  // null: bandwidths are constant
  Time every;
};

/// Referred-to objects outlive the back end.
struct SimulatedCluster {
  const Fabric* fabric = nullptr;  // ranks: workers, then servers, then aggregators
  const SharingModel* sharing = nullptr;
  std::vector<TokenBucket> token_buckets;
  LinkJitter link_jitter;
  std::vector<BackgroundTraffic> background;
  double share_while_computing = 1;  // of a worker's links inside its host, while it computes

  ComputePlan compute;
  std::vector<double> update_seconds_per_byte;  // [classes of compute]; 0: free
  Time serial_per_epoch;                        // pause of all computing at the end of an epoch

  struct Bytes {
    std::uint64_t model = 0;       // on the wire: one gradient or one model
    std::uint64_t statistics = 0;  // of running statistics, which follow each gradient or model; 0: they stay
    std::uint64_t state = 0;       // of one optimizer-state vector; also the parameter bytes that an update is charged for
  };
  Bytes bytes;

  struct Protocol {
    std::vector<ProtocolSegment> segments;
    double connection_bytes_per_second = std::numeric_limits<double>::infinity();  // the rate cap of a message between two hosts
    Time per_message;                                                              // of processor time, on each side
    double seconds_per_byte = 0;                                                   // the same, for each byte
    std::size_t cores = 0;  // that handle the messages of all ranks; 0: each rank has its own
  };
  Protocol protocol;

  /// To encode or decode a vector takes that long per byte of it.
  struct Coding {
    std::vector<double> seconds_per_byte;  // [workers]; empty: free everywhere
    double server_seconds_per_byte = 0;    // of servers, each of its shard, and of aggregators
    bool costs() const { return !seconds_per_byte.empty(); }
  };
  Coding coding;

  /// Of a host, for weights that its workers share.
  struct Memory {
    double seconds_per_byte = 0;
    Time latency;  // of each access
  };
  Memory memory;

  struct Servers {
    std::size_t count = 0;  // hold one equal shard each; 0: the scheme has no server
    double update_seconds_per_byte = 0;
    Time per_message;   // of a server's time for each message that it takes or sends, in addition to protocol.per_message
    bool free = false;  // servers and aggregators handle messages in no time, even if workers need time
  };
  Servers servers;

  /// They handle messages and step as a server does.
  struct Aggregators {
    Rank count = 0, first = 0;  // the rank of the first
  };
  Aggregators aggregators;

  bool peers = false;  // workers exchange with each other, by messages: each is told when members change

  struct Collective {
    bool used = false;                            // workers call collectives (SchemeEntry::all_reduces)
    const CollectiveEntry* all_reduce = nullptr;  // null: the scheme does not use one
    Parameters parameters;                        // of all_reduce
    bool automatic = false;                       // an all-gather or a reduce-scatter has the fastest algorithm, whatever all_reduce is
    bool gathers = false;        // the all-reduces' inputs are compressed: each is an all-gather around a ring (Compression::gathered)
    bool shares_states = false;  // workers move shards of states: with `automatic` each collective has the algorithm that is fastest
    CollectiveShape shape;
    UniformLinks uniform;
    bool stepwise = false;
    bool as_they_come = false;                // stepwise; each rank begins on arrival
    std::optional<std::uint64_t> eager_most;  // bytes of a message that leaves before its receiver has come; none: any; as_they_come only
    double reduce_seconds_per_byte = 0;
    Time launch;                  // of each rank, before its part of a collective
    std::vector<Bucket> buckets;  // of a gradient; empty: one, all of it
  };
  Collective collective;

  struct Faults {
    std::vector<Fault> list;
    std::vector<FaultProcess> processes;
    std::shared_ptr<const FaultUnits> units;  // null: there are no processes
    OnFailure on_failure = OnFailure::wait;
    bool none() const { return list.empty() && processes.empty(); }
    /// Workers crash, leave or join.
    bool change_members() const;
    bool join_or_leave() const;
  };
  Faults faults;
  RecoverySettings recovery;

  /// When workers are present.
  struct PresencePatterns {
    std::vector<const Availability*> patterns;  // by group (null: always); empty: all are, always
    std::vector<std::uint32_t> group_of;        // [workers], with patterns
    std::vector<Rank> first_of_group;           // likewise
  };
  PresencePatterns presence;

  Tariffs tariffs;
  std::uint64_t seed = 1;
};

inline bool SimulatedCluster::Faults::join_or_leave() const {
  return std::ranges::any_of(list, [](const Fault& fault) { return fault.kind == Fault::Kind::join || fault.kind == Fault::Kind::leave; });
}

inline bool SimulatedCluster::Faults::change_members() const {
  const auto of_member = [](const Fault& fault) { return fault.kind != Fault::Kind::slow && fault.kind != Fault::Kind::link; };
  const auto of_members = [](const FaultProcess& process) {
    return process.fails() && process.of != UnitKind::server && process.of != UnitKind::link;
  };
  return std::ranges::any_of(list, of_member) || std::ranges::any_of(processes, of_members);
}

}  // namespace straggler
