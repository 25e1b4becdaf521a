// The ring's means are those of the executor's rule, bit for bit: that is what makes a replay of real ranks exact.
#include "validation/mpi/ring_mean.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

using namespace straggler;

namespace {

/// Ranks of one process, a queue between each two neighbours; whose turn it is, chance decides.
class Ring {
 public:
  explicit Ring(Rank ranks) : inbox_(static_cast<std::size_t>(ranks)) {
    for (Rank rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<RingMean>(rank, ranks, [this, rank, ranks](RingMean::Outgoing out) {
        (out.part.kind == Part::Kind::main ? sent_ : statistics_) += out.part.bytes;
        ++messages_;
        inbox_[static_cast<std::size_t>((rank + 1) % ranks)].push_back(std::move(out.bytes));
      }));
  }
  RingMean& operator[](std::size_t rank) { return *ranks_[rank]; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t sent_statistics() const { return statistics_; }
  std::size_t messages() const { return messages_; }

  void run(std::mt19937& chance) {
    for (;;) {
      std::vector<std::size_t> able;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (!ranks_[rank]->done() && !inbox_[rank].empty()) able.push_back(rank);
      if (able.empty()) return;
      const std::size_t rank = able[chance() % able.size()];
      const Bytes message = std::move(inbox_[rank].front());
      inbox_[rank].pop_front();
      ranks_[rank]->arrived(message);
    }
  }

 private:
  std::vector<std::unique_ptr<RingMean>> ranks_;
  std::vector<std::deque<Bytes>> inbox_;
  std::uint64_t sent_ = 0, statistics_ = 0;
  std::size_t messages_ = 0;
};

std::vector<std::vector<float>> random_vectors(std::size_t count, std::size_t length, std::mt19937& chance) {
  std::normal_distribution<float> draw(0, 1);
  std::vector<std::vector<float>> all(count, std::vector<float>(length));
  for (auto& each : all)
    for (float& x : each) x = draw(chance) * std::exp2(static_cast<float>(chance() % 20));  // so that the order of a sum matters
  return all;
}

std::vector<float> by_rule(const Kernels& kernels, const std::vector<std::vector<float>>& parts, std::size_t apart) {
  std::vector<const float*> inputs;
  for (const auto& part : parts) inputs.push_back(part.data());
  std::vector<float> out(parts.front().size());
  Extent extent{out.size()};
  extent.apart = apart;
  Registry<ElementwiseEntry>::instance().at("ring_mean").apply(kernels, extent, inputs, {}, out.data());
  return out;
}

bool same_bits(std::span<const float> a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace

TEST_CASE("every rank has the mean of every vector, in the bits of the rule, under every kernel set") {
  std::mt19937 chance(1);
  for (const Rank ranks : {1, 2, 3, 4, 7, 16}) {
    for (const Cut cut : {Cut{1, 1}, Cut{5, 5}, Cut{1000, 1000}, Cut{2, 1}, Cut{1000, 900}, Cut{1000, 7}}) {
      const std::size_t length = cut.length;
      CAPTURE(ranks);
      CAPTURE(length);
      CAPTURE(cut.main);
      const auto p = static_cast<std::size_t>(ranks);
      const auto first = random_vectors(p, length, chance), second = random_vectors(p, length, chance);
      Ring ring(ranks);
      for (std::size_t rank = 0; rank < p; ++rank) {
        std::vector<float> mine = first[rank];
        mine.insert(mine.end(), second[rank].begin(), second[rank].end());
        ring[rank].begin(std::move(mine), cut, {}, 0);
      }
      ring.run(chance);
      for (const std::string_view name : available_kernels()) {
        const Kernels& kernels = select_kernels(name);
        const std::size_t apart = cut.main < length ? cut.main : 0;
        const std::vector<float> mean = by_rule(kernels, first, apart), other = by_rule(kernels, second, apart);
        for (std::size_t rank = 0; rank < p; ++rank) {
          REQUIRE(ring[rank].done());
          CHECK(same_bits(ring[rank].mean(0), mean));
          CHECK(same_bits(ring[rank].mean(1), other));
        }
      }
      // Each chunk of each vector is sent p - 1 times to be summed and p - 1 times to be known: 2 (p - 1) n floats.
      CHECK(ring.sent() == 2 * 2 * (p - 1) * cut.main * 4);
      CHECK(ring.sent_statistics() == 2 * 2 * (p - 1) * (length - cut.main) * 4);
      CHECK(ring.messages() == cut.parts().size() * 2 * (p - 1) * p);
    }
  }
}

TEST_CASE("every rank gets the extra bytes of all, and the flags of one reach all") {
  std::mt19937 chance(2);
  constexpr std::size_t p = 5;
  for (std::size_t flagged = 0; flagged <= p; ++flagged) {  // p: nobody
    Ring ring(p);
    for (int round = 0; round < 3; ++round) {  // one after another, as a run has them
      const auto vectors = random_vectors(p, 7, chance);
      for (std::size_t rank = 0; rank < p; ++rank)
        ring[rank].begin(vectors[rank], {7, round == 1 ? 4u : 7u},
                         Bytes(rank + 1, static_cast<std::byte>(10 * round + static_cast<int>(rank))), rank == flagged ? 6 : 0);
      ring.run(chance);
      for (std::size_t rank = 0; rank < p; ++rank) {
        REQUIRE(ring[rank].done());
        CHECK(ring[rank].flags() == (flagged < p ? 6 : 0));
        for (std::size_t other = 0; other < p; ++other)
          CHECK(ring[rank].beside()[other] == Bytes(other + 1, static_cast<std::byte>(10 * round + static_cast<int>(other))));
      }
    }
  }
}

TEST_CASE("a ring of packed numbers has the bits of the rule for compressed means, in half the bytes of 16 bits") {
  std::mt19937 chance(9);
  for (const char* name : {"fp16", "bf16", "random_k"}) {
    const CompressorEntry& entry = Registry<CompressorEntry>::instance().at(name);
    std::vector<double> scalars = entry.scalars(complete(entry.parameters, {}));
    if (entry.draws != Draws::none) {
      scalars.front() = 1;  // all of them
      scalars.push_back(5);
    }
    for (const std::size_t ranks : {1u, 2u, 3u, 7u}) {
      CAPTURE(name);
      CAPTURE(ranks);
      const std::size_t length = 1000, first = 900;
      std::vector<std::vector<float>> parts = random_vectors(ranks, length, chance);
      std::vector<std::vector<float>> messages;
      Ring ring(static_cast<Rank>(ranks));
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        round_to(entry.sums->numbers, first, parts[rank].data(), parts[rank].data());
        ring[rank].begin(parts[rank], Cut{length, first}, {}, 0, entry.sums->numbers);
        messages.emplace_back(parts[rank].begin(), parts[rank].begin() + first);
      }
      ring.run(chance);
      std::vector<const float*> inputs;
      for (const std::vector<float>& each : messages) inputs.push_back(each.data());
      std::vector<double> all = {number_of(entry), 0, 1};
      all.insert(all.end(), scalars.begin(), scalars.end());
      std::vector<float> mean(first);
      Extent extent;
      extent.n = first;
      if (ranks > 1)
        Registry<ElementwiseEntry>::instance().at("compressed_mean").apply(select_kernels("auto"), extent, inputs, all, mean.data());
      else
        mean = messages.front();
      const std::vector<float> behind = by_rule(select_kernels("auto"), parts, first);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        CHECK(same_bits(ring[rank].mean(0).first(first), mean));
        CHECK(same_bits(ring[rank].mean(0).subspan(first), std::vector<float>(behind.begin() + first, behind.end())));
      }
      const std::size_t size = entry.sums->numbers == Precision::fp32 ? 4 : 2;
      CHECK(ring.sent() == 2 * (ranks - 1) * first * size);
      CHECK(ring.sent_statistics() == 2 * (ranks - 1) * (length - first) * 4);
    }
  }
}
