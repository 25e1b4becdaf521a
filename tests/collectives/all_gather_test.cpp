// The ring all-gather against its formula, in both fidelities.
#include "sim/collectives/all_gather.hpp"

#include "world.hpp"

using namespace straggler;

TEST_CASE("a ring all-gather of n bytes a rank takes (p - 1)(alpha + n beta), and moves (p - 1) n from every rank") {
  const double seconds = 5e-6, bytes_per_second = 1.25e9;
  for (const std::size_t ranks : {2u, 3u, 8u, 13u}) {
    for (const std::uint64_t bytes : {8u, 100'000u, 12'345'678u}) {
      CAPTURE(ranks);
      CAPTURE(bytes);
      const auto schedule = ring_all_gather(bytes, ranks);
      CHECK(schedule->ranks() == ranks);
      const double steps = static_cast<double>(ranks - 1);
      const double expected = steps * (2 * seconds + static_cast<double>(bytes) / bytes_per_second);
      const Nic nic{bytes_per_second, bytes_per_second, Time::from_seconds(seconds)};
      World stepwise(ranks, nic), fluid(ranks, nic);
      CHECK(std::abs(stepwise.stepwise(*schedule, {}) - expected) < 1e-9 * steps);
      CHECK(std::abs(fluid.fluid(*schedule, {}) - expected) < 1e-9 * steps);
      CHECK(stepwise.messages == ranks * (ranks - 1));
      RoundPart part;
      for (CollectiveRank rank = 0; rank < ranks; ++rank) {
        std::uint64_t sent = 0, received = 0;
        for (std::size_t round = 0; round < schedule->rounds(); ++round) {
          schedule->part(rank, round, part);
          for (const RoundPart::Send& send : part.sends) sent += send.bytes;
          received += part.received_bytes;
        }
        CHECK(sent == bytes * (ranks - 1));
        CHECK(schedule->bytes_sent(rank) == sent);
        CHECK(schedule->bytes_received(rank) == received);
      }
    }
  }
  CHECK(ring_all_gather(100, 1)->stretches().empty());
}
