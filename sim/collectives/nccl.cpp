// NCCL: a ring, a tree, NVLS, NVLSTree or PAT with protocol LL, LL128 or Simple, whichever is fastest for the message by NCCL's own model
// (nccl_tuning.hpp). The library's latencies come on top of those of the links, as its own model adds those of network cards.
//
// NCCL cuts a message so finely that it pays latencies once and keeps links full meanwhile. So the rounds here are steps of latency, and
// the bytes that a link carries are spread evenly over them:
//   ring in one host, or with one rank on each: 2(p-1) rounds of n/p bytes
//   ring over m hosts of g: 2(m-1) rounds of (p-1)/(m-1) n/p bytes along the chains inside hosts and from host to host
//   all-gathers and reduce-scatters: half of the rounds of a ring
//   PAT, with one rank on each host: ⌈lg p⌉ rounds, in which blocks of n/p go 2^j ranks away, of a gather the farthest first
//   tree in one host: 2(g-1) rounds in which n/2(g-1) go up and down the chain of its ranks
//   tree over m hosts: 2⌊lg m⌋ rounds in which the trees' shares of n go up and down two binary trees of hosts, and the chains inside
//   NVLS: everybody sends to everybody in two rounds, n + n/p bytes in all; the switch adds up and multiplies
//   NVLSTree over m hosts: 2⌊lg m⌋ rounds of latency, and one of NVLS' bytes inside hosts beside the trees' shares of n between them
// With several cards on each host that many of them run side by side, each over a share of n, and each by another card.
// Where several ranks share one of several hosts, g - 1 rounds without bytes before and behind these take the chains' own latency.
#include <bit>
#include <functional>

#include "sim/base/registry.hpp"
#include "sim/collectives/chunks.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/collectives/double_tree.hpp"
#include "sim/collectives/nccl_tuning.hpp"
#include "sim/collectives/ring_steps.hpp"

namespace straggler::collectives::nccl {
namespace {

void send(RoundPart& out, CollectiveRank to, std::uint64_t bytes) { out.sends.push_back({to, bytes}); }

void receive(RoundPart& out, std::uint64_t bytes, bool added) {
  ++out.receives;
  out.received_bytes += bytes;
  if (added) out.reduced_bytes += bytes;
}

class Schedule : public CollectiveSchedule {
 public:
  Schedule(const HostChains& chains, const NcclLine& line) : chains_(chains), line_(line), place_(chains_.workers()) {
    for (std::size_t at = 0; at < place_.size(); ++at) place_[chains_.members[at]] = at;
  }
  std::size_t ranks() const override { return chains_.workers(); }
  Time start_cost() const override { return Time::from_seconds(line_.start); }
  double latency_share(std::size_t) const override { return line_.latency_share; }
  double wire_factor(CollectiveRank, CollectiveRank) const override { return line_.wire_factor; }

 protected:
  std::size_t host_of(CollectiveRank rank) const { return chains_.host_of[rank]; }
  std::size_t member(CollectiveRank rank) const { return place_[rank] - chains_.first[host_of(rank)]; }  // its place in the host's chain
  bool has_next(CollectiveRank rank) const { return member(rank) + 1 < chains_.size(host_of(rank)); }
  CollectiveRank next(CollectiveRank rank) const { return chains_.members[place_[rank] + 1]; }
  CollectiveRank previous(CollectiveRank rank) const { return chains_.members[place_[rank] - 1]; }
  CollectiveRank head(std::size_t host) const { return chains_.members[chains_.first[host]]; }

  HostChains chains_;
  NcclLine line_;
  std::vector<std::size_t> place_;  // [ranks] in chains_.members
};

/// Around a ring: sums of chunks in a first pass, and the results in a second.
class Passes {
 public:
  explicit Passes(CollectiveKind operation) : operation_(operation) {}
  std::size_t count() const { return operation_ == CollectiveKind::all_reduce ? 2 : 1; }
  bool scatters(std::size_t pass) const { return pass == 0 && operation_ != CollectiveKind::all_gather; }
  std::vector<Stretch> stretches(std::size_t first, std::size_t steps) const {
    std::vector<Stretch> all;
    for (std::size_t pass = 0; pass < count(); ++pass) all.push_back({first + pass * steps, steps});
    return all;
  }

 private:
  CollectiveKind operation_;
};

/// In one host, or with one rank on each host.
class PlainRing final : public Schedule {
 public:
  PlainRing(std::uint64_t bytes, const HostChains& chains, const NcclLine& line, CollectiveKind operation)
      : Schedule(chains, line),
        passes_(operation),
        steps_(bytes, chains_.workers()),
        round_(Time::from_seconds(chains_.hosts() == 1 ? line.inside_round : line.between_round)) {}
  std::size_t rounds() const override { return passes_.count() * steps_.steps(); }
  Time round_cost(std::size_t) const override { return round_; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    const std::size_t at = place_[rank], before = steps_.previous(at), step = round % steps_.steps();
    const bool scatters = passes_.scatters(round / steps_.steps());
    send(out, chains_.members[steps_.next(at)], scatters ? steps_.scattered(at, step) : steps_.gathered(at, step));
    receive(out, scatters ? steps_.scattered(before, step) : steps_.gathered(before, step), scatters);
  }

  std::vector<Stretch> stretches() const override {
    return steps_.steps() == 0 ? std::vector<Stretch>() : passes_.stretches(0, steps_.steps());
  }

 private:
  Passes passes_;
  RingSteps steps_;
  Time round_;
};

/// Rounds between hosts, and before and behind them those along the chains inside: up to the first member, and down from it.
class OverHosts : public Schedule {
 public:
  OverHosts(const HostChains& chains, const NcclLine& line, std::size_t between, CollectiveKind operation = CollectiveKind::all_reduce)
      : Schedule(chains, line),
        before_(operation == CollectiveKind::all_gather ? 0 : chains_.most - 1),
        between_(between),
        behind_(operation == CollectiveKind::reduce_scatter ? 0 : chains_.most - 1),
        inside_round_(Time::from_seconds(line.inside_round)),
        between_round_(Time::from_seconds(line.between_round)) {}
  std::size_t rounds() const override { return before_ + between_ + behind_; }
  Time round_cost(std::size_t round) const override { return is_between(round) ? between_round_ : inside_round_; }
  double latency_share(std::size_t round) const override { return is_between(round) ? line_.latency_share : 1; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    if (is_between(round)) return between(rank, round - before_, out);
    const bool up = round < before_;
    const bool before = member(rank) > 0, behind = has_next(rank);
    if (up ? before : behind) send(out, up ? previous(rank) : next(rank), 0);
    if (up ? behind : before) receive(out, 0, false);
  }

  std::vector<Stretch> stretches() const override {
    std::vector<Stretch> all;
    if (before_ > 0) all.push_back({0, before_});
    add_between(before_, all);
    if (behind_ > 0) all.push_back({before_ + between_, behind_});
    return all;
  }

 protected:
  virtual void between(CollectiveRank rank, std::size_t round, RoundPart& out) const = 0;
  virtual void add_between(std::size_t first, std::vector<Stretch>& all) const { all.push_back({first, between_}); }

 private:
  bool is_between(std::size_t round) const { return round >= before_ && round < before_ + between_; }

  std::size_t before_, between_, behind_;
  Time inside_round_, between_round_;
};

class RingOverHosts final : public OverHosts {
 public:
  RingOverHosts(std::uint64_t bytes, const HostChains& chains, const NcclLine& line, CollectiveKind operation)
      : OverHosts(chains, line, Passes(operation).count() * (chains.hosts() - 1), operation),
        passes_(operation),
        steps_(chains_.hosts() - 1),
        half_((bytes / ranks()) * (ranks() - 1) + (bytes % ranks() * (ranks() - 1) + ranks() - 1) / ranks(), steps_) {}

 private:
  void between(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    const bool scatters = passes_.scatters(round / steps_);
    const std::uint64_t bytes = half_.size(round % steps_);
    if (has_next(rank)) send(out, next(rank), bytes);
    if (member(rank) > 0) return receive(out, bytes, scatters);
    const std::size_t hosts = chains_.hosts(), host = host_of(rank);
    send(out, head((host + 1) % hosts), bytes);
    receive(out, bytes, scatters);
  }
  void add_between(std::size_t first, std::vector<Stretch>& all) const override {
    for (const Stretch& pass : passes_.stretches(first, steps_)) all.push_back(pass);
  }

  Passes passes_;
  std::size_t steps_;  // of each pass
  Chunks half_;
};

/// In one host the chain alone.
class Tree final : public OverHosts {
 public:
  Tree(std::uint64_t bytes, const HostChains& chains, const NcclLine& line)
      : OverHosts(chains, line, 2 * height(chains.hosts())),
        tree_(chains_.hosts()),
        halves_(bytes, DoubleTree::trees),
        pieces_{Chunks(halves_.size(0), 2 * height(chains_.hosts())), Chunks(halves_.size(1), 2 * height(chains_.hosts()))},
        both_trees_(bytes, 2 * height(chains_.hosts())) {}

 private:
  static std::size_t height(std::size_t hosts) { return static_cast<std::size_t>(std::bit_width(hosts)) - 1; }

  void between(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    const std::uint64_t both = both_trees_.size(round);
    if (has_next(rank)) {
      send(out, next(rank), both);
      receive(out, both, true);
    }
    if (member(rank) > 0) {
      send(out, previous(rank), both);
      return receive(out, both, false);
    }
    for (std::size_t t = 0; t < DoubleTree::trees; ++t) {
      const std::uint64_t bytes = pieces_[t].size(round);
      const DoubleTree::Node node = tree_.node(t, static_cast<CollectiveRank>(host_of(rank)));
      if (node.level < tree_.height()) {
        send(out, head(node.parent), bytes);
        receive(out, bytes, false);
      }
      for (std::size_t c = 0; c < node.children; ++c) {
        send(out, head(node.child[c].rank), bytes);
        receive(out, bytes, true);
      }
    }
  }

  DoubleTree tree_;
  Chunks halves_;
  Chunks pieces_[DoubleTree::trees];
  Chunks both_trees_;  // along the chains
};

class Chain final : public Schedule {
 public:
  Chain(std::uint64_t bytes, const HostChains& chains, const NcclLine& line)
      : Schedule(chains, line), pieces_(bytes, rounds()), round_(Time::from_seconds(line.inside_round)) {}
  std::size_t rounds() const override { return 2 * (ranks() - 1); }
  Time round_cost(std::size_t) const override { return round_; }
  std::vector<Stretch> stretches() const override { return {{0, rounds()}}; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    const std::uint64_t bytes = pieces_.size(round);
    if (has_next(rank)) {
      send(out, next(rank), bytes);
      receive(out, bytes, true);
    }
    if (member(rank) == 0) return;
    send(out, previous(rank), bytes);
    receive(out, bytes, false);
  }

 private:
  Chunks pieces_;
  Time round_;
};

class Nvls final : public Schedule {
 public:
  Nvls(std::uint64_t bytes, const HostChains& chains, const NcclLine& line)
      : Schedule(chains, line), pieces_(bytes + (bytes + ranks() - 1) / ranks(), 2 * others()) {}
  std::size_t rounds() const override { return 2; }
  std::vector<Stretch> stretches() const override { return {{0, 1}, {1, 1}}; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    for (std::size_t away = 1; away <= others(); ++away) {
      const std::uint64_t bytes = pieces_.size(round * others() + away - 1);
      send(out, static_cast<CollectiveRank>((rank + away) % ranks()), bytes);
      receive(out, bytes, false);
    }
  }

 private:
  std::size_t others() const { return ranks() - 1; }
  Chunks pieces_;
};

/// Rounds without bytes for the latencies: to the first of a host, up and down the trees, and from the first. Before the last one a round
/// without latency carries all bytes, those inside hosts beside those between them.
class NvlsTree final : public Schedule {
 public:
  NvlsTree(std::uint64_t bytes, const HostChains& chains, const NcclLine& line)
      : Schedule(chains, line), tree_(chains_.hosts()), bulk_(1 + 2 * tree_.height()), shares_(bytes, chains_.fewest), bytes_(bytes) {}
  std::size_t rounds() const override { return bulk_ + 2; }
  Time round_cost(std::size_t round) const override { return is_tree(round) ? Time::from_seconds(line_.between_round) : Time(); }
  double latency_share(std::size_t round) const override { return round == bulk_ ? 0 : 1; }
  std::vector<Stretch> stretches() const override { return {{0, 1}, {1, bulk_ - 1}, {bulk_, 1}, {bulk_ + 1, 1}}; }
  double wire_factor(CollectiveRank from, CollectiveRank to) const override { return host_of(from) == host_of(to) ? line_.wire_factor : 1; }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    const std::size_t host = host_of(rank), at = member(rank), others = chains_.size(host) - 1;
    if (round == bulk_) inside(host, at, others, out);
    if (round == bulk_ || is_tree(round)) return between(host, at, round == bulk_, out);
    const bool sends = (round == 0) == (at > 0);
    if (!sends) out.receives = static_cast<std::uint32_t>(at > 0 ? 1 : others);
    if (sends && at > 0) send(out, head(host), 0);
    if (sends && at == 0)
      for (std::size_t to = 1; to <= others; ++to) send(out, of_host(host, to), 0);
  }

 private:
  bool is_tree(std::size_t round) const { return round > 0 && round < bulk_; }
  CollectiveRank of_host(std::size_t host, std::size_t at) const { return chains_.members[chains_.first[host] + at]; }

  /// Its message to the switch, and its share of the sum.
  void inside(std::size_t host, std::size_t at, std::size_t others, RoundPart& out) const {
    for (std::size_t away = 1; away <= others; ++away) {
      send(out, of_host(host, (at + away) % (others + 1)), Chunks(switched(at), others).size(away - 1));
      receive(out, Chunks(switched((at + others + 1 - away) % (others + 1)), others).size(away - 1), false);
    }
  }
  std::uint64_t switched(std::size_t at) const { return bytes_ + (at < chains_.fewest ? shares_.size(at) : 0); }

  /// To those of its place.
  void between(std::size_t host, std::size_t at, bool bulk, RoundPart& out) const {
    if (at >= chains_.fewest) return;
    for (std::size_t t = 0; t < DoubleTree::trees; ++t) {
      const std::uint64_t bytes = bulk ? Chunks(shares_.size(at), DoubleTree::trees).size(t) : 0;
      const DoubleTree::Node node = tree_.node(t, static_cast<CollectiveRank>(host));
      if (node.level < tree_.height()) {
        send(out, of_host(node.parent, at), bytes);
        receive(out, bytes, false);
      }
      for (std::size_t c = 0; c < node.children; ++c) {
        send(out, of_host(node.child[c].rank, at), bytes);
        receive(out, bytes, true);
      }
    }
  }

  DoubleTree tree_;  // over hosts
  std::size_t bulk_;
  Chunks shares_;  // one for each GPU of a host that is in charge
  std::uint64_t bytes_;
};

/// Block b reaches the rank v behind its own in the round whose distance is v's lowest bit. A reduce-scatter sends sums back.
class Pat final : public Schedule {
 public:
  Pat(std::uint64_t bytes, const HostChains& chains, const NcclLine& line, CollectiveKind operation)
      : Schedule(chains, line), scatters_(operation == CollectiveKind::reduce_scatter), blocks_(bytes, ranks()) {}
  std::size_t rounds() const override { return static_cast<std::size_t>(std::bit_width(ranks() - 1)); }
  Time round_cost(std::size_t) const override { return Time::from_seconds(line_.between_round); }
  std::vector<Stretch> stretches() const override {
    std::vector<Stretch> all;
    for (std::size_t round = 0; round < rounds(); ++round) all.push_back({round, 1});
    return all;
  }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    const std::size_t away = std::size_t{1} << (scatters_ ? round : rounds() - 1 - round), p = ranks(), at = place_[rank];
    const std::size_t behind = (at + away) % p, before = (at + p - away) % p;
    send(out, chains_.members[scatters_ ? before : behind], reached(scatters_ ? at : behind, away));
    receive(out, reached(scatters_ ? behind : at, away), scatters_);
  }

 private:
  /// The bytes of the blocks that reach a rank over this distance.
  std::uint64_t reached(std::size_t at, std::size_t away) const {
    std::uint64_t bytes = 0;
    for (std::size_t v = away; v < ranks(); v += 2 * away) bytes += blocks_.size((at + ranks() - v) % ranks());
    return bytes;
  }

  bool scatters_;
  Chunks blocks_;
};

/// Schedules of equal shape side by side, each over a share of the bytes.
class Channels final : public CollectiveSchedule {
 public:
  explicit Channels(std::vector<std::unique_ptr<CollectiveSchedule>> each) : each_(std::move(each)) {}
  std::size_t ranks() const override { return each_.front()->ranks(); }
  std::size_t rounds() const override { return each_.front()->rounds(); }
  Time start_cost() const override { return each_.front()->start_cost(); }
  Time round_cost(std::size_t round) const override { return each_.front()->round_cost(round); }
  double latency_share(std::size_t round) const override { return each_.front()->latency_share(round); }
  double wire_factor(CollectiveRank from, CollectiveRank to) const override { return each_.front()->wire_factor(from, to); }
  std::vector<Stretch> stretches() const override { return each_.front()->stretches(); }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    each_.front()->part(rank, round, out);
    RoundPart other;
    for (std::size_t channel = 1; channel < each_.size(); ++channel) {
      each_[channel]->part(rank, round, other);
      out.sends.insert(out.sends.end(), other.sends.begin(), other.sends.end());
      out.receives += other.receives;
      out.received_bytes += other.received_bytes;
      out.reduced_bytes += other.reduced_bytes;
    }
  }

 private:
  std::vector<std::unique_ptr<CollectiveSchedule>> each_;
};

std::unique_ptr<CollectiveSchedule> on_chains(std::uint64_t bytes, const HostChains& chains, const NcclLine& line,
                                              CollectiveKind operation) {
  const bool one_host = chains.hosts() == 1;
  switch (line.algorithm) {
    case NcclAlgorithm::nvls:
      return std::make_unique<Nvls>(bytes, chains, line);
    case NcclAlgorithm::nvls_tree:
      return std::make_unique<NvlsTree>(bytes, chains, line);
    case NcclAlgorithm::tree:
      if (one_host) return std::make_unique<Chain>(bytes, chains, line);
      return std::make_unique<Tree>(bytes, chains, line);
    case NcclAlgorithm::pat:
      return std::make_unique<Pat>(bytes, chains, line, operation);
    case NcclAlgorithm::ring:
      break;
  }
  if (one_host || chains.most == 1) return std::make_unique<PlainRing>(bytes, chains, line, operation);
  return std::make_unique<RingOverHosts>(bytes, chains, line, operation);
}

std::unique_ptr<CollectiveSchedule> make(CollectiveKind operation, std::uint64_t bytes, const CollectiveShape& shape,
                                         const UniformLinks& links, const Parameters& parameters) {
  const HostChains chains(shape);
  if (shape.workers < 2) return std::make_unique<PlainRing>(bytes, chains, NcclLine{}, operation);
  const NcclLine line = nccl_choice(static_cast<double>(bytes), chains, links, parameters, operation);
  // The GPUs of NVLSTree use their own cards.
  if (chains.channels() == 1 || line.algorithm == NcclAlgorithm::nvls_tree) return on_chains(bytes, chains, line, operation);
  const Chunks shares(bytes, chains.channels());
  std::vector<std::unique_ptr<CollectiveSchedule>> each;
  for (std::size_t channel = 0; channel < chains.channels(); ++channel)
    each.push_back(on_chains(shares.size(channel), chains.of_channel(channel), line, operation));
  return std::make_unique<Channels>(std::move(each));
}

CollectiveEntry entry(CollectiveKind operation, const char* summary) {
  CollectiveEntry nccl;
  nccl.name = "nccl";
  nccl.summary = summary;
  nccl.operation = operation;
  nccl.reference = "NVIDIA/nccl, src/graph/tuning.cc";
  nccl.parameters = nccl_parameters();
  nccl.contradiction = nccl_contradiction;
  nccl.library = true;
  nccl.choice = [operation](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters& parameters) {
    return shape.workers < 2 ? std::string("nothing") : nccl_choice(bytes, HostChains(shape), links, parameters, operation).name();
  };
  nccl.seconds = [operation](double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters& parameters) {
    return shape.workers < 2 ? 0 : nccl_choice(bytes, HostChains(shape), links, parameters, operation).seconds;
  };
  nccl.exact = [](const CollectiveShape& shape) { return shape.workers <= 2; };
  nccl.make = std::bind_front(make, operation);
  return nccl;
}
const Register<CollectiveEntry> registered(
    entry(CollectiveKind::all_reduce, "NCCL's choice for each message: ring, tree, NVLS or NVLSTree, protocol LL, LL128 or Simple"));
const RegisterCollective gather(entry(CollectiveKind::all_gather, "NCCL's ring, protocol LL, LL128 or Simple, or PAT"));
const RegisterCollective scatter(entry(CollectiveKind::reduce_scatter, "NCCL's ring, protocol LL, LL128 or Simple, or PAT"));

}  // namespace
}  // namespace straggler::collectives::nccl
