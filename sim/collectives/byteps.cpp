// BytePS: hosts add up the gradients of their workers, and servers those of the hosts, partition by partition. A partition is pushed while
// the one before it is pulled, and hosts add up and spread others meanwhile. With m hosts of g workers, S servers and partitions of c bytes
// there are K = ⌈n / (S c)⌉ stripes of one partition for each server. Stripe r is added up inside hosts in round r, pushed in round r + 1,
// pulled in round r + 2 and spread inside hosts in round r + 3; with g = 1 the first and the last fall away, with m = 1 those between.
// With g = 1 and n = K S c:
//   T = (K + 1) (max(S, m) c β + α) + K (m-1) c γ
// With `pull: after_push` no partition is pulled before all are pushed:
//   T = 2 K (max(S, m) c β + α) + K (m-1) c γ
// Jiang et al., A Unified Architecture for Accelerating Distributed DNN Training in Heterogeneous GPU/CPU Clusters, OSDI 2020.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"

namespace straggler::collectives::byteps {
namespace {

enum class Stage { add_up, push, pull, spread };
const char* name_of(Stage stage) {
  static constexpr const char* names[] = {"add up", "push", "pull", "spread"};
  return names[static_cast<std::size_t>(stage)];
}

class BytePs final : public CollectiveSchedule {
 public:
  BytePs(std::uint64_t bytes, const CollectiveShape& shape, const Parameters& parameters)
      : workers_(shape.workers), servers_(shape.servers), places_(shape.workers), bytes_(bytes) {
    std::map<std::uint32_t, std::size_t> known;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      const auto [found, fresh] = known.try_emplace(shape.host(worker), hosts_.size());
      if (fresh) hosts_.emplace_back();
      std::vector<CollectiveRank>& host = hosts_[found->second];
      places_[worker] = {found->second, host.size()};
      host.push_back(static_cast<CollectiveRank>(worker));
    }
    const bool shared = hosts_.size()<workers_, several = hosts_.size()> 1;
    if (shared) stages_.push_back(Stage::add_up);
    if (several) stages_.insert(stages_.end(), {Stage::push, Stage::pull});
    if (shared) stages_.push_back(Stage::spread);
    if (!several) servers_ = 1;  // there are none to wait for; a stripe is one partition
    stripe_ = static_cast<std::uint64_t>(parameters.number("partition")) * servers_;
    stripes_ = stages_.empty() ? 0 : std::max<std::size_t>(1, static_cast<std::size_t>((bytes + stripe_ - 1) / stripe_));
    const bool after = parameters.text("pull") == "after_push";
    for (const Stage stage : stages_) begin_.push_back(begin_.empty() ? 0 : begin_.back() + (after && stage == Stage::pull ? stripes_ : 1));
    if (several) of_card_ = shape.card_share(hosts_.front().size());
  }

  std::size_t ranks() const override { return workers_ + (hosts_.size() > 1 ? servers_ : 0); }
  std::size_t rounds() const override { return stripes_ == 0 ? 0 : begin_.back() + stripes_; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const std::optional<std::uint64_t> bytes = stripe_in(round, s);
      if (!bytes) continue;
      if (rank >= workers_)
        server_part(rank - workers_, stages_[s], *bytes, out);
      else
        worker_part(rank, stages_[s], *bytes, out);
    }
  }

  /// "add up, push, pull, spread"; "nothing" for one worker.
  std::string stages() const {
    std::string text;
    for (const Stage stage : stages_) text += (text.empty() ? "" : ", ") + std::string(name_of(stage));
    return text.empty() ? "nothing" : text;
  }

  /// Rounds in which the same stages are busy are alike, except for the round of the last stripe, which may be shorter.
  std::vector<Stretch> stretches() const override {
    std::vector<Stretch> all;
    for (std::size_t round = 0; round < rounds(); ++round) {
      if (!all.empty() && alike(round - 1, round))
        ++all.back().rounds;
      else
        all.push_back({round, 1});
    }
    return all;
  }

  /// Transfer time and latency of one round on uniform links, and its arithmetic.
  double round_seconds(std::size_t round, const UniformLinks& links) const {
    double inside = 0, between = 0, arithmetic = 0;
    bool network = false;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const std::optional<std::uint64_t> bytes = stripe_in(round, s);
      if (!bytes) continue;
      const auto stripe = static_cast<double>(*bytes), shard = static_cast<double>(Chunks(*bytes, servers_).size(servers_ - 1));
      const double m = static_cast<double>(hosts_.size()), g = static_cast<double>(workers_) / m;
      if (stages_[s] == Stage::add_up || stages_[s] == Stage::spread) {
        inside += (g - 1) / g * stripe * links.intra_beta;
        if (stages_[s] == Stage::add_up) arithmetic = std::max(arithmetic, (g - 1) / g * stripe * links.gamma);
      } else {
        network = true;
        between = std::max(between, std::max(stripe * of_card_, m * shard) * links.beta);
        if (stages_[s] == Stage::push) arithmetic = std::max(arithmetic, (m - 1) * shard * links.gamma);
      }
    }
    const double of_hosts = inside > 0 ? inside + links.intra_alpha : 0, of_network = network ? between + links.alpha : 0;
    return std::max(of_hosts, of_network) + arithmetic;
  }

 private:
  struct Place {
    std::size_t host, member;
  };

  /// Of the stripe that this stage handles in the round; none: no stripe.
  std::optional<std::uint64_t> stripe_in(std::size_t round, std::size_t stage) const {
    const std::size_t begin = begin_[stage];
    if (round < begin || round - begin >= stripes_) return std::nullopt;
    return std::min(stripe_, bytes_ - std::min(bytes_, stripe_ * (round - begin)));
  }
  bool alike(std::size_t round, std::size_t next) const {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const auto now = stripe_in(round, stage), then = stripe_in(next, stage);
      if (now != then || (then && next - begin_[stage] + 1 == stripes_)) return false;
    }
    return true;
  }
  /// A host member's share of that number of bytes.
  std::uint64_t carried(std::uint64_t bytes, const Place& place) const {
    return Chunks(bytes, hosts_[place.host].size()).size(place.member);
  }
  /// The same of each server's shard.
  std::uint64_t carried(std::uint64_t stripe, std::size_t server, const Place& place) const {
    return carried(Chunks(stripe, servers_).size(server), place);
  }
  std::uint64_t carried_of_all(std::uint64_t stripe, const Place& place) const {
    std::uint64_t sum = 0;
    for (std::size_t server = 0; server < servers_; ++server) sum += carried(stripe, server, place);
    return sum;
  }

  void worker_part(CollectiveRank rank, Stage stage, std::uint64_t stripe, RoundPart& out) const {
    const Place& own = places_[rank];
    const std::vector<CollectiveRank>& host = hosts_[own.host];
    const std::uint64_t mine = carried_of_all(stripe, own);
    for (std::size_t member = 0; member < host.size() && (stage == Stage::add_up || stage == Stage::spread); ++member) {
      if (member == own.member) continue;
      const std::uint64_t theirs = carried_of_all(stripe, {own.host, member});
      out.sends.push_back({host[member], stage == Stage::add_up ? theirs : mine});
      ++out.receives;
      out.received_bytes += stage == Stage::add_up ? mine : theirs;
      if (stage == Stage::add_up) out.reduced_bytes += mine;
    }
    if (stage == Stage::push)
      for (std::size_t server = 0; server < servers_; ++server)
        out.sends.push_back({static_cast<CollectiveRank>(workers_ + server), carried(stripe, server, own)});
    if (stage != Stage::pull) return;
    out.receives += static_cast<std::uint32_t>(servers_);
    out.received_bytes += mine;
  }

  void server_part(std::size_t server, Stage stage, std::uint64_t stripe, RoundPart& out) const {
    const std::uint64_t shard = Chunks(stripe, servers_).size(server);
    if (stage == Stage::push) {
      out.receives += static_cast<std::uint32_t>(workers_);
      out.received_bytes += hosts_.size() * shard;
      out.reduced_bytes += (hosts_.size() - 1) * shard;
    } else if (stage == Stage::pull) {
      for (std::size_t worker = 0; worker < workers_; ++worker)
        out.sends.push_back({static_cast<CollectiveRank>(worker), carried(stripe, server, places_[worker])});
    }
  }

  std::size_t workers_, servers_;
  std::vector<Place> places_;                       // [workers]
  std::vector<std::vector<CollectiveRank>> hosts_;  // [hosts][members]
  std::uint64_t bytes_, stripe_ = 0;
  std::vector<Stage> stages_;
  std::vector<std::size_t> begin_;  // [stages]: the round of its first stripe
  std::size_t stripes_ = 0;
  double of_card_ = 1;  // the share of a host's push that its fullest card carries
};

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters& parameters) {
  const BytePs schedule(static_cast<std::uint64_t>(bytes), shape, parameters);
  double sum = 0;
  for (const Stretch& stretch : schedule.stretches())
    sum += static_cast<double>(stretch.rounds) * schedule.round_seconds(stretch.first, links);
  return sum;
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "byteps";
  made.summary = "BytePS: partitions, pushed to S servers and pulled at the same time; hosts sum first";
  made.reference = "Jiang et al. 2020";
  made.parameters = {{.name = "partition",
                      .type = ValueType::bytes,
                      .fallback = "4096000B",
                      .meaning = "bytes of the pieces into which gradients are cut (BYTEPS_PARTITION_BYTES)",
                      .range = Range::between(1024, 1e15)},
                     {.name = "pull",
                      .type = ValueType::choice,
                      .fallback = "beside_push",
                      .meaning = "when partitions are pulled: each one while the next is pushed, or all after the last push",
                      .choices = {"beside_push", "after_push"}}};
  made.library = true;
  made.choice = [](double bytes, const CollectiveShape& shape, const UniformLinks&, const Parameters& parameters) {
    return BytePs(static_cast<std::uint64_t>(bytes), shape, parameters).stages();
  };
  made.seconds = seconds;
  made.exact = [](const CollectiveShape& shape) { return shape.host_of.empty(); };
  made.unfit = [](const CollectiveShape& shape) -> std::string {
    return shape.servers > 0 ? "" : "needs a parameter server; add cluster.servers: {count: 1}";
  };
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters& parameters) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<BytePs>(bytes, shape, parameters);
  };
  return made;
}
const Register<CollectiveEntry> registered(entry());

}  // namespace
}  // namespace straggler::collectives::byteps
