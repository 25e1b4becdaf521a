// At the end every rank has what each brought, to the byte, whoever comes when.
#include "validation/mpi/ring_gather.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <random>

using namespace straggler;

namespace {

/// Ranks of one process, a queue between each two neighbours; whose turn it is, chance decides.
struct GatheringRing {
  explicit GatheringRing(Rank count) : inbox(static_cast<std::size_t>(count)) {
    for (Rank rank = 0; rank < count; ++rank)
      ranks.push_back(std::make_unique<RingGather>(rank, count, [this, rank, count](RingMean::Outgoing out) {
        (out.part.kind == Part::Kind::main ? sent : statistics) += out.part.bytes;
        inbox[static_cast<std::size_t>((rank + 1) % count)].push_back(std::move(out.bytes));
      }));
  }
  void run(std::mt19937& chance) {
    for (;;) {
      std::vector<std::size_t> able;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (!ranks[rank]->done() && !inbox[rank].empty()) able.push_back(rank);
      if (able.empty()) return;
      const std::size_t rank = able[chance() % able.size()];
      const Bytes message = std::move(inbox[rank].front());
      inbox[rank].pop_front();
      ranks[rank]->arrived(message);
    }
  }
  std::vector<std::unique_ptr<RingGather>> ranks;
  std::vector<std::deque<Bytes>> inbox;
  std::uint64_t sent = 0, statistics = 0;
};

}  // namespace

TEST_CASE("an all-gather around a ring brings every part to every rank, and moves (p - 1) n bytes from each") {
  std::mt19937 chance(5);
  for (const Rank count : {1, 2, 3, 6}) {
    for (const bool two : {false, true}) {
      for (const Rank voter : {-1, 0, count - 1}) {
        GatheringRing ring(count);
        std::vector<std::vector<RingGather::Packed>> messages;
        for (Rank rank = 0; rank < count; ++rank) {
          messages.push_back({{Bytes(40 + index_of(rank), static_cast<std::byte>(rank)), {24}}});
          if (two) messages.back().push_back({Bytes(9, static_cast<std::byte>(100 + rank)), {8, Part::Kind::statistics}});
          ring.ranks[index_of(rank)]->begin(messages.back(), rank == voter ? 1 : 0);
        }
        ring.run(chance);
        const auto p = static_cast<std::uint64_t>(count);
        CHECK(ring.sent == p * (p - 1) * 24);
        CHECK(ring.statistics == (two ? p * (p - 1) * 8 : 0));
        for (const auto& rank : ring.ranks) {
          REQUIRE(rank->done());
          CHECK(rank->flags() == (voter >= 0 ? 1 : 0));
          for (Rank from = 0; from < count; ++from) {
            const std::vector<Bytes> got = rank->message(from);
            REQUIRE(got.size() == (two ? 2 : 1));
            for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == messages[index_of(from)][k].bytes);
          }
        }
      }
    }
  }
}
