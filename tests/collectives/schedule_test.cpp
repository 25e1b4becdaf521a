// The contract of every schedule, whatever the algorithm: what is sent is received, round by round; everyone ends up with the
// contributions of all; and bytes are neither fewer than an all-reduce needs nor, for the frugal algorithms, more.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collectives/chunks.hpp"
#include "tests/collectives/world.hpp"
#include "tests/support/sanitized.hpp"

namespace schedule_test {

using namespace straggler;

namespace {

struct Account {
  std::uint32_t messages = 0;
  std::uint64_t bytes = 0;
};

using Knowledge = std::vector<std::vector<bool>>;  // [rank][worker]

/// Everything that `schedule` says, gathered once. Fails at the first breach. (Plain conditions: millions of them are looked at.)
struct Audit {
  explicit Audit(const CollectiveSchedule& schedule, std::size_t workers)
      : sent(schedule.ranks()), received(schedule.ranks()), reduced(schedule.ranks()), knows(schedule.ranks()) {
    for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
      knows[rank].assign(workers, false);
      if (rank < workers) knows[rank][rank] = true;
    }
    for (std::size_t round = 0; round < schedule.rounds(); ++round) play(schedule, round);
  }

  void play(const CollectiveSchedule& schedule, std::size_t round) {
    std::vector<Account> arriving(schedule.ranks());
    Knowledge after = knows;
    RoundPart part;
    for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
      schedule.part(static_cast<CollectiveRank>(rank), round, part);
      for (const RoundPart::Send& send : part.sends) {
        if (send.to >= schedule.ranks() || send.to == rank) FAIL("rank ", rank, " sends to rank ", send.to, " in round ", round);
        sent[rank] += send.bytes;
        ++arriving[send.to].messages;
        arriving[send.to].bytes += send.bytes;
        for (std::size_t w = 0; w < after[send.to].size(); ++w)
          if (knows[rank][w]) after[send.to][w] = true;
      }
    }
    for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
      part.receives = 1000;  // what was there before is overwritten
      schedule.part(static_cast<CollectiveRank>(rank), round, part);
      if (part.receives != arriving[rank].messages || part.received_bytes != arriving[rank].bytes)
        FAIL("rank ", rank, " is sent ", arriving[rank].messages, " messages of ", arriving[rank].bytes, " B in round ", round,
             " and expects ", part.receives, " of ", part.received_bytes);
      if (part.reduced_bytes > part.received_bytes) FAIL("rank ", rank, " adds up more than it has received in round ", round);
      received[rank] += part.received_bytes;
      reduced[rank] += part.reduced_bytes;
    }
    knows = std::move(after);
  }

  static std::uint64_t sum(const std::vector<std::uint64_t>& all) {
    std::uint64_t total = 0;
    for (const std::uint64_t one : all) total += one;
    return total;
  }

  std::vector<std::uint64_t> sent, received, reduced;
  Knowledge knows;
};

void check_stretches(const CollectiveSchedule& schedule) {
  std::size_t next = 0;
  for (const Stretch& stretch : schedule.stretches()) {
    REQUIRE(stretch.first == next);
    REQUIRE(stretch.rounds > 0);
    next += stretch.rounds;
  }
  REQUIRE(next == schedule.rounds());
}

/// Rounds of a stretch have the same messages, and the same bytes to within a byte a message.
void check_alike(const CollectiveSchedule& schedule) {
  RoundPart first, other;
  for (const Stretch& stretch : schedule.stretches()) {
    for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
      schedule.part(static_cast<CollectiveRank>(rank), stretch.first, first);
      for (std::size_t round = stretch.first + 1; round < stretch.first + stretch.rounds; ++round) {
        schedule.part(static_cast<CollectiveRank>(rank), round, other);
        bool alike = other.sends.size() == first.sends.size() && other.receives == first.receives;
        for (std::size_t i = 0; alike && i < first.sends.size(); ++i) {
          alike = other.sends[i].to == first.sends[i].to && other.sends[i].bytes <= first.sends[i].bytes + 1 &&
                  first.sends[i].bytes <= other.sends[i].bytes + 1;
        }
        if (!alike) FAIL("rank ", rank, " does something else in round ", round, " than in round ", stretch.first);
      }
    }
  }
}

const std::vector<std::uint64_t> sizes = {0, 1, 3, 4, 1000, (1u << 20) + 1};

void check_contract(const CollectiveEntry& entry, std::uint64_t bytes, const CollectiveShape& shape) {
  const std::string what =
      entry.name + ", " + std::to_string(bytes) + " B, p = " + std::to_string(shape.workers) + ", S = " + std::to_string(shape.servers);
  CAPTURE(what);
  const std::unique_ptr<CollectiveSchedule> schedule = make_schedule(entry, bytes, shape);
  const bool uses_servers = schedule->ranks() > shape.workers;
  REQUIRE(schedule->ranks() == shape.workers + (uses_servers ? shape.servers : 0));
  check_stretches(*schedule);
  check_alike(*schedule);
  const Audit audit(*schedule, shape.workers);
  for (std::size_t rank = 0; rank < schedule->ranks(); ++rank) {
    REQUIRE(schedule->bytes_sent(static_cast<CollectiveRank>(rank)) == audit.sent[rank]);
    REQUIRE(schedule->bytes_received(static_cast<CollectiveRank>(rank)) == audit.received[rank]);
    REQUIRE(audit.knows[rank] == std::vector<bool>(shape.workers, true));
  }
  // Each byte of the result takes p-1 messages to be added up and p-1 to be told, and p-1 additions.
  REQUIRE(Audit::sum(audit.sent) >= 2 * (shape.workers - 1) * bytes);
  REQUIRE(Audit::sum(audit.reduced) >= (shape.workers - 1) * bytes);
}

const std::vector<std::size_t>& rank_counts() {
  static const std::vector<std::size_t> counts = [] {
    std::vector<std::size_t> all;
    for (std::size_t p = 1; p <= (test::sanitized ? 17 : 33); ++p) all.push_back(p);
    for (const std::size_t p : {63, 64, 65, 100, 127, 250}) {
      if (!test::sanitized || p < 65) all.push_back(p);
    }
    return all;
  }();
  return counts;
}

}  // namespace

TEST_CASE("every registered all-reduce is one, for any number of workers, servers and bytes") {
  for (const CollectiveEntry& entry : collectives()) {
    for (const std::size_t p : rank_counts()) {
      // The audit takes p² steps: of many ranks two sizes.
      for (const std::uint64_t bytes : p < 63 ? sizes : std::vector<std::uint64_t>{3, (1u << 20) + 1}) {
        const bool served = needs_servers(entry);
        REQUIRE(entry.unfit({p, 0, {}}).empty() != served);
        for (const std::size_t servers : {0, 1, 2, 3, 4, 5}) {
          if (served == (servers > 0) || servers == 3) check_contract(entry, bytes, {p, servers, {}});
        }
      }
    }
  }
}

TEST_CASE("the same with several workers a host, in any order") {
  for (const CollectiveEntry& entry : collectives()) {
    for (std::size_t hosts = 1; hosts <= 4; ++hosts) {
      for (std::size_t per_host = 1; per_host <= 9; ++per_host) {
        for (const std::uint64_t bytes : sizes) {
          CollectiveShape in_order{hosts * per_host, 2, {}}, dealt_out = in_order;
          for (std::size_t rank = 0; rank < in_order.workers; ++rank) {
            in_order.host_of.push_back(static_cast<std::uint32_t>(rank / per_host));
            dealt_out.host_of.push_back(static_cast<std::uint32_t>(7 + 3 * (rank % hosts)));
          }
          check_contract(entry, bytes, in_order);
          check_contract(entry, bytes, dealt_out);
        }
      }
    }
  }
}

TEST_CASE("a double binary tree of any number of pieces, more than bytes included") {
  const CollectiveEntry& entry = collective("double_binary_tree");
  for (const std::size_t p : {2, 3, 4, 7, 12, 33}) {
    for (const std::int64_t pieces : {1, 2, 5, 64, 1000}) {
      for (const std::uint64_t bytes : sizes) {
        const auto schedule = make_schedule(entry, bytes, {p, 0, {}}, {}, {{"pieces", pieces}});
        check_stretches(*schedule);
        check_alike(*schedule);
        const Audit audit(*schedule, p);
        for (std::size_t rank = 0; rank < p; ++rank) {
          REQUIRE(audit.knows[rank] == std::vector<bool>(p, true));
          // About 2n each way: half of the bytes up each tree, and down to two children in one of them.
          REQUIRE(audit.sent[rank] <= 2 * bytes + 4);
          REQUIRE(audit.received[rank] <= 2 * bytes + 4);
        }
        REQUIRE(Audit::sum(audit.sent) == 2 * (p - 1) * bytes);
      }
    }
  }
}

TEST_CASE("algorithms that send no byte more than needed") {
  for (const std::size_t p : rank_counts()) {
    for (const std::uint64_t bytes : sizes) {
      for (const char* const name : {"ring", "binomial_tree", "halving_doubling"}) {
        CAPTURE(name);
        CAPTURE(p);
        const auto schedule = make_schedule(collective(name), bytes, {p, 0, {}});
        const Audit audit(*schedule, p);
        REQUIRE(Audit::sum(audit.sent) == 2 * (p - 1) * bytes);
        REQUIRE(Audit::sum(audit.reduced) == (p - 1) * bytes);
        if (std::string(name) != "ring") continue;
        // And no rank more than another, to within a chunk's rounding: 2((p-1)/p) n each.
        for (std::size_t rank = 0; rank < p; ++rank) {
          const double fair = 2.0 * static_cast<double>(p - 1) / static_cast<double>(p) * static_cast<double>(bytes);
          REQUIRE(std::abs(static_cast<double>(audit.sent[rank]) - fair) <= 2);
        }
      }
    }
  }
}

TEST_CASE("a hierarchical ring is the plain one on one host, and with one worker on each") {
  for (const std::size_t p : {1, 2, 5, 8}) {
    for (const std::uint64_t bytes : sizes) {
      const auto plain = make_schedule(collective("ring"), bytes, {p, 0, {}});
      for (const bool together : {true, false}) {
        CollectiveShape shape{p, 0, {}};
        for (std::size_t rank = 0; rank < p; ++rank) shape.host_of.push_back(together ? 4 : static_cast<std::uint32_t>(rank));
        const auto schedule = make_schedule(collective("hierarchical"), bytes, shape);
        REQUIRE(schedule->rounds() == plain->rounds());
        RoundPart a, b;
        for (std::size_t round = 0; round < plain->rounds(); ++round) {
          for (CollectiveRank rank = 0; rank < p; ++rank) {
            plain->part(rank, round, a);
            schedule->part(rank, round, b);
            REQUIRE(a.sends.size() == b.sends.size());
            REQUIRE(a.sends[0].to == b.sends[0].to);
            REQUIRE(a.sends[0].bytes == b.sends[0].bytes);
            REQUIRE(a.reduced_bytes == b.reduced_bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("a shape that does not fit is reported in one sentence") {
  CHECK(collective("parameter_server").unfit({4, 0, {}}) == "needs a parameter server; add cluster.servers: {count: 1}");
  CHECK(collective("parameter_server").unfit({4, 1, {}}).empty());
  const std::string uneven = collective("hierarchical").unfit({5, 0, {0, 0, 0, 1, 1}});
  CHECK(uneven == "needs the same number of workers on every host, but host 0 has 3 and host 1 has 2; give each the same number");
  CHECK(collective("hierarchical").unfit({4, 0, {0, 1, 0, 1}}).empty());
}

TEST_CASE("chunks are exact where bytes times chunks overflows 64 bits") {
  const std::uint64_t bytes = 0xffff'ffff'ffff'fff1u;
  const Chunks chunks(bytes, 4'000'000'007u);
  CHECK(chunks.edge(0) == 0);
  CHECK(chunks.edge(chunks.count()) == bytes);
  CHECK(chunks.bytes() == bytes);
  for (const std::size_t c : {0u, 1u, 1'999'999'999u, 4'000'000'006u}) {
    CHECK(chunks.size(c) >= bytes / chunks.count());
    CHECK(chunks.size(c) <= bytes / chunks.count() + 1);
  }
}

}  // namespace schedule_test
