// Slow spells that last: a two-state chain over quanta. From fast, the next quantum is slow with probability p_slow; from slow,
// the next is fast with probability p_recover. The factor is 1 when fast and `factor` when slow.
// Quantum 0 has the stationary distribution, P(slow) = p_slow / (p_slow + p_recover), and so have all others. Spells are
// geometric: slow ones last 1/p_recover quanta in the mean, fast ones 1/p_slow. The mean factor is 1 + P(slow) (factor - 1).
// Yang, Pedarsani, Avestimehr, Timely-Throughput Optimal Coded Computing over Cloud Networks, MobiHoc 2019 (measured on EC2);
// Gilbert, Capacity of a Burst-Noise Channel, Bell System Technical Journal 39(5), 1960.
#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_markov {
namespace {

/// Quantum k is slow if its uniform draw u_k is below p_slow (after a fast one) or below 1 - p_recover (after a slow one). So
/// a draw below both or above both decides alone, and the state of any quantum is found by going back to the last such draw,
/// 1 / min(p_slow + p_recover, 2 - p_slow - p_recover) draws in the mean. Going forward takes one draw; the last 64 states are
/// remembered, for work that is redone.
class MarkovJitter final : public Jitter {
 public:
  MarkovJitter(double p_slow, double p_recover, double factor) : p_slow_(p_slow), p_recover_(p_recover), factor_(factor) {}

  double factor(std::uint64_t stream, std::uint64_t quantum) override {
    if (stream != stream_) known_ = 0, stream_ = stream;
    if (!remembers(quantum)) {
      const bool slow = find(quantum);
      const bool next = known_ > 0 && quantum == latest_ + 1;
      states_ = states_ << 1 | (slow ? 1 : 0);
      known_ = next ? std::min(known_ + 1, 64u) : 1;
      latest_ = quantum;
    }
    return state(quantum) ? factor_ : 1;
  }

 private:
  bool remembers(std::uint64_t quantum) const { return quantum <= latest_ && latest_ - quantum < known_; }
  bool state(std::uint64_t quantum) const { return (states_ >> (latest_ - quantum) & 1) != 0; }

  bool find(std::uint64_t quantum) const {
    const double after_fast = p_slow_, after_slow = 1 - p_recover_;
    bool flipped = false;  // from quantum `at` to `quantum`
    for (std::uint64_t at = quantum;; --at) {
      if (remembers(at)) return state(at) != flipped;
      const double u = RandomStream(stream_, at).uniform();
      if (at == 0) return (u < p_slow_ / (p_slow_ + p_recover_)) != flipped;
      if (u < std::min(after_fast, after_slow)) return !flipped;
      if (u >= std::max(after_fast, after_slow)) return flipped;
      if (after_fast > after_slow) flipped = !flipped;  // fast becomes slow and slow fast; otherwise the state stays
    }
  }

  double p_slow_, p_recover_, factor_;
  std::uint64_t stream_ = 0, latest_ = 0;
  std::uint64_t states_ = 0;  // bit i: quantum latest_ - i is slow; `known_` of them hold
  unsigned known_ = 0;
};

std::unique_ptr<Jitter> make(const Parameters& parameters) {
  return std::make_unique<MarkovJitter>(parameters.number("p_slow"), parameters.number("p_recover"), parameters.number("factor"));
}

const Register<JitterEntry> entry({"markov",
                                   "slow spells that last; the mean is 1 + (factor - 1) p_slow / (p_slow + p_recover)",
                                   {{"p_slow",
                                     ValueType::fraction,
                                     "0.05",
                                     false,
                                     "chance that the quantum after a fast one is slow; fast spells last 1/p_slow quanta",
                                     Range::above_to(0, 1),
                                     {}},
                                    {"p_recover",
                                     ValueType::fraction,
                                     "0.2",
                                     false,
                                     "chance that the quantum after a slow one is fast; slow spells last 1/p_recover quanta",
                                     Range::above_to(0, 1),
                                     {}},
                                    {"factor", ValueType::number, "4", false, "times slower in a slow spell", Range::above_to(0, 1e6), {}}},
                                   make,
                                   {},
                                   [](const Parameters& own) {
                                     const double slow = own.number("p_slow") / (own.number("p_slow") + own.number("p_recover"));
                                     return 1 + (own.number("factor") - 1) * slow;
                                   }});

}  // namespace
}  // namespace straggler::cluster::jitter_markov
