// NCCL's lines, of the figures in nccl_facts.hpp. The steps: a ring over p GPUs takes 2(p-1), of them 2(m-1) between the m hosts; a tree
// 2(g-1) along the chains of g GPUs inside hosts and 2⌊lg m⌋ between them; NVLS has one latency for the whole, and NVLSTree 2⌊lg m⌋ steps
// between hosts in addition.
#include "sim/collectives/nccl_tuning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "sim/collectives/double_tree.hpp"
#include "sim/collectives/nccl_facts.hpp"
#include "sim/collectives/nccl_threshold.hpp"

namespace straggler {
namespace {

using namespace nccl_facts;

constexpr std::size_t blackwell = 3, forced_nvls = 3;  // places among the choices

/// A choice's place among those of its parameter.
std::size_t choice_of(const Parameters& parameters, const char* name) {
  const std::vector<Parameter> all = nccl_parameters();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Parameter& each) { return each.name == name; });
  const auto at = std::find(found->choices.begin(), found->choices.end(), parameters.text(name));
  return static_cast<std::size_t>(at - found->choices.begin());
}

struct Settings {
  explicit Settings(const Parameters& parameters)
      : by_thresholds(choice_of(parameters, "version") == 0),
        recent(choice_of(parameters, "version") == 2),
        constants(recent ? constants_2_30() : constants_2_8()),
        gpu(choice_of(parameters, "gpu")),
        nvlink(choice_of(parameters, "inside") == 0),
        nvls(parameters.flag("nvls")),
        algorithm(choice_of(parameters, "algorithm")),
        protocol(choice_of(parameters, "protocol")),
        channels(parameters.has("channels") ? static_cast<double>(parameters.count("channels")) : 0),
        reported(parameters.has("reported_latency") ? std::optional(parameters.number("reported_latency")) : std::nullopt) {}
  bool by_thresholds, recent;  // 2.4; 2.30
  const Constants& constants;
  std::size_t gpu;
  bool nvlink, nvls;
  std::size_t algorithm, protocol;  // 0: any; else one more than the enumerator's place in `choices`
  double channels;                  // 0: not known
  std::optional<double> reported;   // seconds
};

/// The common inputs of all lines of one message.
struct Message {
  double bytes;
  const HostChains& chains;
  const UniformLinks& links;
  const Settings& settings;
  CollectiveKind operation;
  /// Times around the ring.
  double passes() const { return operation == CollectiveKind::all_reduce ? 2 : 1; }
  double workers() const { return static_cast<double>(chains.workers()); }
  double hosts() const { return static_cast<double>(chains.hosts()); }
  double inside_steps() const { return passes() * (workers() - 1) - passes() * (hosts() - 1); }  // of a ring
  bool one_host() const { return chains.hosts() == 1; }
  bool alone_on_hosts() const { return chains.most == 1; }
  std::size_t few_hosts() const { return std::min<std::size_t>(chains.hosts(), 3) - 1; }
  double levels() const { return static_cast<double>(std::bit_width(chains.hosts()) - 1); }  // of a tree over hosts
  /// Seconds that NCCL rates a step between hosts at beyond what `seconds` has for it. What a network reports counts twice with Simple: it
  /// flushes what has come.
  double unpaid(NcclProtocol protocol, double plateau = 1) const {
    return settings.reported ? plateau * *settings.reported * (protocol == NcclProtocol::simple ? 2 : 1) - links.alpha : 0;
  }
  /// GB/s that LL reaches at most; since 2.30.
  double most_ll() const {
    if (one_host()) return ll_most_one_host[settings.gpu];
    return chains.hosts() == 2 ? ll_most_two_hosts : ll_most_hosts;
  }
  double cards() const { return static_cast<double>(chains.channels()); }
  /// Seconds a byte of a message takes on a worker's way inside its host. Where each worker has a card, one channel in `cards` leaves by
  /// it.
  double inside_beta() const {
    return chains.channels() > 1 && chains.per_card == 1 ? links.intra_beta * (cards() - 1) / cards() : links.intra_beta;
  }
  /// Seconds a byte of a message takes on the narrowest link: cards carry equal shares side by side.
  double beta() const { return one_host() ? links.intra_beta : std::max(links.beta / cards(), inside_beta()); }
  /// The same as NCCL rates trees: on two hosts it takes its graph's bandwidth inside a host, which its search raises up to twice that
  /// between them.
  double tree_beta() const { return hosts() == 2 ? std::max(links.beta / cards() / 2, inside_beta()) : beta(); }
};

/// At most that number of GB/s. No limit if it is 0 or infinite, or if the links are unknown.
double limited(double share, double most, double beta) {
  if (beta <= 0 || most <= 0 || std::isinf(most)) return share;
  return std::min(share, most * gb * beta);
}

double tree_correction(const Message& message, std::size_t protocol) {
  const std::uint64_t lines = static_cast<std::uint64_t>(message.bytes) >> 6;
  const std::vector<double>& factors = message.settings.constants.tree_correction[protocol];
  if (lines == 0) return 1;
  const auto power = static_cast<std::size_t>(std::bit_width(lines)) - 1;
  return power < factors.size() ? factors[power] : 1;
}

double ring_share(const Message& message, std::size_t protocol) {
  const Settings& settings = message.settings;
  const bool all_reduce = message.operation == CollectiveKind::all_reduce;
  const double ll = !settings.recent && !all_reduce && message.one_host() ? half_ring_ll : settings.constants.ring_ll;
  if (protocol == 0) return settings.recent ? limited(ll, message.most_ll(), message.beta()) : ll;
  if (protocol == 2) return 1;
  const bool lonely = !settings.recent && message.workers() < 2 * message.hosts();
  return limited(lonely ? lonely_ring_ll128 : settings.constants.ring_ll128,
                 settings.channels * (settings.recent || all_reduce ? settings.constants.channel_ring_ll128[settings.gpu]
                                                                    : half_ring_ll128[message.operation == CollectiveKind::all_gather]),
                 message.beta());
}

/// `beta`: of the bandwidth that limits hold for.
double tree_share(const Message& message, std::size_t protocol, double beta) {
  const Settings& settings = message.settings;
  const Constants& constants = settings.constants;
  double most = 0;
  if (!settings.recent) {
    const bool wide = protocol == 1 && settings.gpu > 0;
    most = tree_most[wide ? 1 : 0][message.chains.hosts() > 2 ? 1 : 0];
  } else if (settings.channels > 0) {
    most = settings.channels * constants.channel_tree[settings.gpu][message.few_hosts()];
  }
  double share = limited(constants.tree_share, most, beta);
  if (protocol == 0) share *= constants.tree_ll;
  if (protocol == 0 && settings.recent) share = limited(share, message.most_ll(), beta);
  if (protocol == 1) {
    share *= message.one_host() ? constants.tree_ll128_one_host : constants.tree_ll128_hosts;
    if (settings.channels > 0)
      share = limited(share, settings.channels * constants.channel_tree_ll128[settings.gpu][message.few_hosts()], beta);
  }
  return share * tree_correction(message, protocol);
}

/// A ring sends a chunk in two slices with Simple: while the latency of one passes, the other flows, and none of the links waits. So of the
/// latencies of all steps a message shows what its bytes do not cover, and at least the last. `flowing`: seconds of its bytes.
double latency_share(double steps, double latency, double flowing) {
  return latency > 0 ? std::max(1 / steps, 1 - flowing / (2 * steps * latency)) : 1;
}

NcclLine ring_line(const Message& message, std::size_t protocol) {
  const Settings& settings = message.settings;
  const Constants& constants = settings.constants;
  const std::size_t ring = static_cast<std::size_t>(NcclAlgorithm::ring), tree = static_cast<std::size_t>(NcclAlgorithm::tree);
  double inside = (settings.nvlink ? constants.nvlink : constants.pcie)[ring][protocol];
  double between = constants.network[ring][protocol];
  if (settings.recent && !message.one_host()) {
    inside = std::max(inside, protocol == 2 ? posting_simple : posting);
    if (message.workers() == message.hosts()) between = constants.network[tree][protocol];
  } else if (!message.one_host() && protocol == 0) {
    inside *= ll_over_hosts;
  }
  double plateau = 1;
  if (protocol == 2 && !message.one_host() && message.operation == CollectiveKind::all_reduce) {
    if (settings.recent && message.bytes / (std::max(settings.channels, 2.0) * message.workers()) >= 64)
      plateau = settings.gpu == 0 ? simple_over_hosts : simple_over_hosts_since_ampere;
    else if (!settings.recent && message.bytes >= message.workers() / 16 * 65536)
      plateau = simple_over_hosts;
  }
  NcclLine line{.algorithm = NcclAlgorithm::ring, .protocol = static_cast<NcclProtocol>(protocol)};
  line.start = plateau * us * constants.base[ring][protocol];
  line.inside_round = plateau * us * inside;
  line.between_round = plateau * us * between;
  line.wire_factor = 1 / ring_share(message, protocol);
  const UniformLinks& links = message.links;
  const double passes = message.passes();
  const double volume = passes * (message.workers() - 1) / message.workers() * message.bytes;
  const double flowing = volume * line.wire_factor * message.beta();
  const double added = message.operation == CollectiveKind::all_gather ? 0 : volume / passes;
  line.rated = line.start + flowing + added * links.gamma;
  if (message.one_host()) {
    line.seconds = line.rated += passes * (message.workers() - 1) * (line.inside_round + links.intra_alpha);
    return line;
  }
  // With one rank on each host ends is 0, and so are the steps inside.
  const double ends = passes * (static_cast<double>(message.chains.most) - 1), rounds = passes * (message.hosts() - 1);
  line.between_round += std::max(0.0, message.inside_steps() - ends) / rounds * (line.inside_round + links.intra_alpha);
  line.rated += ends * (line.inside_round + links.intra_alpha) + rounds * (line.between_round + links.alpha);
  if (protocol == 2) line.latency_share = latency_share(rounds, links.alpha, flowing);
  line.seconds = line.rated - rounds * links.alpha * (1 - line.latency_share);
  line.rated += rounds * message.unpaid(line.protocol, plateau);
  return line;
}

NcclLine tree_line(const Message& message, std::size_t protocol) {
  const Constants& constants = message.settings.constants;
  const std::size_t tree = static_cast<std::size_t>(NcclAlgorithm::tree);
  NcclLine line{.algorithm = NcclAlgorithm::tree, .protocol = static_cast<NcclProtocol>(protocol)};
  line.start = us * constants.base[tree][protocol];
  line.inside_round = us * (message.settings.nvlink ? constants.nvlink : constants.pcie)[tree][protocol];
  line.between_round = us * constants.network[tree][protocol];
  line.wire_factor = 1 / tree_share(message, protocol, message.beta());
  const UniformLinks& links = message.links;
  const std::size_t most = message.chains.most;
  const double chained = most > 2 ? 2 : most == 2 ? 1 : 0;  // messages that the busiest member of a chain sends
  double bytes_seconds = chained * message.inside_beta(), added = most > 1 ? 1 : 0;
  line.seconds = line.start + 2 * (static_cast<double>(most) - 1) * (line.inside_round + links.intra_alpha);
  if (!message.one_host()) {
    const TreeLoad load = nccl_tree_load(message.chains.hosts());
    bytes_seconds = std::max(bytes_seconds, static_cast<double>(load.sent) / 2 * links.beta / message.cards());
    added += static_cast<double>(load.added) / 2;
    line.seconds += 2 * message.levels() * (line.between_round + links.alpha);
  }
  constexpr double both_ways = 2;  // NCCL rates a tree at half of the bandwidth, on any number of hosts
  const double adding = message.bytes * added * links.gamma;
  line.rated = line.seconds + 2 * message.levels() * message.unpaid(line.protocol) + adding +
               message.bytes * both_ways * message.tree_beta() / tree_share(message, protocol, message.tree_beta());
  line.seconds += message.bytes * line.wire_factor * bytes_seconds + adding;
  return line;
}

/// Of p GPUs each is in charge of n/p bytes. It has the switch add them up from all GPUs, its own included, and hand the sum out to all. So
/// n + n/p bytes leave each GPU, and as many come. NCCL rates NVLS at 2 · share times the bus bandwidth of a ring, whatever p.
NcclLine nvls_line(const Message& message) {
  const Settings& settings = message.settings;
  NcclLine line{.algorithm = NcclAlgorithm::nvls, .protocol = NcclProtocol::simple};
  line.start = us * nvls_latency;
  const double of_channels = settings.channels > 1 ? (settings.channels - 1) / settings.channels : 1;
  const double share = nvls_share[settings.gpu], latency = line.start + 2 * message.links.intra_alpha, p = message.workers();
  line.wire_factor = 1 / share;
  line.seconds = latency + (1 + 1 / p) * message.bytes / share * message.links.intra_beta;
  line.rated = latency + 2 * (p - 1) / p * message.bytes / (2 * share * of_channels) * message.links.intra_beta;
  return line;
}

/// As many GPUs of each host as the smallest has are in charge of equal shares of the message. Each has the switch of its host add its
/// share up, exchanges it with those of its place on the other hosts in two trees, and has the switch hand the sum out. NCCL limits what
/// each of them does, and on Blackwell corrects it as trees.
NcclLine nvls_tree_line(const Message& message) {
  const Settings& settings = message.settings;
  const UniformLinks& links = message.links;
  NcclLine line{.algorithm = NcclAlgorithm::nvls_tree, .protocol = NcclProtocol::simple};
  line.start = us * nvls_latency;
  line.between_round = us * nvls_tree_network;
  const bool two = message.chains.hosts() == 2;
  const double share = nvls_share[settings.gpu], heads = static_cast<double>(message.chains.fewest), p = message.workers();
  const double steps = 2 * message.levels(), latency = line.start + 2 * links.intra_alpha + steps * (line.between_round + links.alpha);
  const double corrected = settings.gpu == blackwell ? tree_correction(message, static_cast<std::size_t>(line.protocol)) : 1;
  const double limit = 1 / (heads * head_nvls_tree[settings.gpu][two ? 0 : 1] * gb), around = 2 * (p - 1) / p;
  const double link = (1 + 1 / heads) * links.intra_beta, inside = std::max(link / share, around * limit) / corrected;
  if (link > 0) line.wire_factor = inside / link;
  const TreeLoad load = nccl_tree_load(message.chains.hosts());
  const double of_card = message.chains.channels() > 1 ? static_cast<double>(message.chains.per_card) / heads : 1;
  const double between = static_cast<double>(load.sent) / 2 * of_card * links.beta;
  line.seconds = latency + message.bytes * (std::max(inside, between) + static_cast<double>(load.added) / 2 / heads * links.gamma);
  // Rated by the narrowest of: twice NVLS, on a graph of at most twice the bandwidth between hosts; the network, twice on two hosts; the
  // limit.
  const double of_network = links.beta / message.cards();
  const double rated =
      std::max({std::max(links.intra_beta, of_network / 2) / (2 * share * (heads - 1) / heads), of_network / (two ? 2 : 1), limit});
  line.rated = latency + steps * message.unpaid(line.protocol) + around * message.bytes * rated / corrected;
  return line;
}

/// Whether a switch of each host reduces.
bool has_nvls(const Settings& settings, const HostChains& chains) {
  return settings.nvls && settings.recent && chains.fewest > most_without_nvls && nvls_share[settings.gpu] > 0;
}

/// A tree for each block, all at once: in ⌈lg p⌉ rounds the blocks of a round travel together, the farthest first. Of an all-gather or, the
/// other way round, a reduce-scatter.
NcclLine pat_line(const Message& message) {
  const UniformLinks& links = message.links;
  NcclLine line{.algorithm = NcclAlgorithm::pat, .protocol = NcclProtocol::simple};
  const double p = message.workers(), step = us * message.settings.constants.network[0][2];
  line.start = us * (pat_base + pat_rank * p);
  line.between_round = pat_level * step;
  line.wire_factor = 1 / pat_share;
  const auto rounds = static_cast<double>(std::bit_width(message.chains.workers() - 1));
  const double gathered = (p - 1) / p * message.bytes;
  const double adding = message.operation == CollectiveKind::reduce_scatter ? gathered * links.gamma : 0;
  line.seconds = line.start + rounds * (line.between_round + links.alpha) + gathered * line.wire_factor * message.beta() + adding;
  line.rated = line.start + message.levels() * pat_level * (step + links.alpha + message.unpaid(line.protocol)) +
               message.bytes * line.wire_factor * message.tree_beta() + adding;
  return line;
}

/// Of NCCL 2.4. What the parameters force is the only line of its kind.
NcclLine by_thresholds(const std::vector<NcclLine>& lines, const Message& message) {
  const Settings& settings = message.settings;
  constexpr double over_pcie = 1, over_nvlink = 2;  // of each ring that it finds; several hosts with NVLink take it twice
  const double channels = settings.channels > 0 ? settings.channels : settings.nvlink && !message.one_host() ? over_nvlink : over_pcie;
  const NcclThresholds rule{message.workers(), message.hosts(), settings.nvlink, channels};
  const bool may_be_tree = message.operation == CollectiveKind::all_reduce;
  const bool tree =
      may_be_tree && (settings.algorithm != 0 ? settings.algorithm == 1 : rule.tree_bytes() > 0 && message.bytes <= rule.tree_bytes());
  const NcclAlgorithm algorithm = tree ? NcclAlgorithm::tree : NcclAlgorithm::ring;
  const NcclProtocol protocol = message.bytes <= rule.ll_bytes(message.bytes, tree) ? NcclProtocol::ll : NcclProtocol::simple;
  const NcclLine* found = nullptr;
  for (const NcclLine& line : lines)
    if (line.algorithm == algorithm && (settings.protocol != 0 || line.protocol == protocol)) found = &line;
  return *found;
}

}  // namespace

HostChains::HostChains(const CollectiveShape& shape) : host_of(shape.workers) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> hosts;
  for (std::size_t rank = 0; rank < shape.workers; ++rank) hosts[shape.host(rank)].push_back(static_cast<std::uint32_t>(rank));
  first.push_back(0);
  for (const auto& [name, ranks] : hosts) {
    for (const std::uint32_t rank : ranks) host_of[rank] = first.size() - 1;
    members.insert(members.end(), ranks.begin(), ranks.end());
    first.push_back(members.size());
    most = std::max(most, ranks.size());
    fewest = fewest == 0 ? ranks.size() : std::min(fewest, ranks.size());
  }
  per_card = shape.workers_per_card;
  if (per_card == 0 || hosts.size() == 1) return;
  cards = (fewest + per_card - 1) / per_card;
}

HostChains HostChains::of_channel(std::size_t channel) const {
  HostChains chains = *this;
  chains.cards = 1;
  for (std::size_t host = 0; host < hosts(); ++host) {
    const auto begin = chains.members.begin() + static_cast<std::ptrdiff_t>(first[host]);
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(channel * per_card % size(host)),
                begin + static_cast<std::ptrdiff_t>(size(host)));
  }
  return chains;
}

std::string NcclLine::name() const {
  static const char* const algorithm_names[] = {"tree", "ring", "NVLS", "NVLSTree", "PAT"};
  static const char* const protocol_names[] = {"LL", "LL128", "Simple"};
  return std::string(algorithm_names[static_cast<std::size_t>(algorithm)]) + ", " + protocol_names[static_cast<std::size_t>(protocol)];
}

std::vector<Parameter> nccl_parameters() {
  return {
      {.name = "version",
       .type = ValueType::choice,
       .fallback = "2.30",
       .meaning = "of NCCL's tuning constants; 2.4: its choice by thresholds, with the constants of 2.8",
       .choices = {"2.4", "2.8", "2.30"}},
      {.name = "gpu",
       .type = ValueType::choice,
       .fallback = "ampere",
       .meaning = "generation: limits of LL and LL128, share of NVLS",
       .choices = {"volta", "ampere", "hopper", "blackwell"}},
      {.name = "inside",
       .type = ValueType::choice,
       .fallback = "nvlink",
       .meaning = "of hosts; over PCIe NCCL does not take LL128 by itself",
       .choices = {"nvlink", "pcie"}},
      {.name = "nvls",
       .type = ValueType::boolean,
       .fallback = "false",
       .meaning = "NVSwitches that reduce: hopper or blackwell, version 2.30, at least 3 ranks on each host"},
      {.name = "channels",
       .type = ValueType::count,
       .meaning = "NCCL's channels, each with a limit of its bandwidth; default: no such limits",
       .range = Range::between(1, 64)},
      {.name = "reported_latency",
       .type = ValueType::time,
       .meaning =
           "that the network's plugin reports, and NCCL chooses by: AWS EFA 75us (p5en 35us), InfiniBand and sockets 0s; default: that of "
           "the links",
       .range = Range::at_least(0)},
      {.name = "algorithm",
       .type = ValueType::choice,
       .fallback = "any",
       .meaning = "as NCCL_ALGO; nvls: NVLS on one host, NVLSTree over several, any where there is none",
       .choices = {"any", "tree", "ring", "nvls"}},
      {.name = "protocol",
       .type = ValueType::choice,
       .fallback = "any",
       .meaning = "as NCCL_PROTO",
       .choices = {"any", "LL", "LL128", "Simple"}}};
}

std::string nccl_contradiction(const Parameters& parameters) {
  const Settings settings(parameters);
  const bool ll128 = settings.protocol == static_cast<std::size_t>(NcclProtocol::ll128) + 1;
  if (settings.by_thresholds && ll128) return "version 2.4 has no protocol LL128; use LL, Simple or any, or version 2.8 or 2.30";
  if (settings.algorithm == forced_nvls && !(settings.nvls && settings.recent))
    return "algorithm nvls needs NVSwitches that reduce, and a version that uses them; add nvls: true and version: 2.30";
  if (settings.reported && !settings.recent)
    return "versions 2.4 and 2.8 do not ask a network for its latency; leave reported_latency out, or use version 2.30";
  return "";
}

std::vector<NcclLine> nccl_lines(double bytes, const HostChains& chains, const UniformLinks& links, const Parameters& parameters,
                                 CollectiveKind operation) {
  const Settings settings(parameters);
  const Message message{bytes, chains, links, settings, operation};
  const bool all_reduce = operation == CollectiveKind::all_reduce;
  const bool simple = settings.protocol == 0 || settings.protocol == 3;
  const bool nvls = all_reduce && simple && has_nvls(settings, chains);
  const std::size_t forced = settings.algorithm == forced_nvls && !nvls ? 0 : settings.algorithm;
  std::vector<NcclLine> lines;
  for (std::size_t algorithm = all_reduce ? 0 : 1; algorithm < algorithms; ++algorithm) {
    if (all_reduce && forced != 0 && forced != algorithm + 1) continue;
    for (std::size_t protocol = 0; protocol < protocols; ++protocol) {
      const bool ll128 = settings.nvlink && !settings.by_thresholds;  // 2.4 has none
      if (settings.protocol != 0 ? settings.protocol != protocol + 1 : protocol == 1 && !ll128) continue;
      lines.push_back(algorithm == 0 ? tree_line(message, protocol) : ring_line(message, protocol));
    }
  }
  if (nvls && (forced == 0 || forced == forced_nvls)) lines.push_back(message.one_host() ? nvls_line(message) : nvls_tree_line(message));
  if (!all_reduce && simple && settings.recent && forced == 0 && !message.one_host() && message.alone_on_hosts())
    lines.push_back(pat_line(message));
  return lines;
}

NcclLine nccl_choice(double bytes, const HostChains& chains, const UniformLinks& links, const Parameters& parameters,
                     CollectiveKind operation) {
  const std::vector<NcclLine> lines = nccl_lines(bytes, chains, links, parameters, operation);
  if (const Settings settings(parameters); settings.by_thresholds)
    return by_thresholds(lines, Message{bytes, chains, links, settings, operation});
  return *std::min_element(lines.begin(), lines.end(),
                           [](const NcclLine& a, const NcclLine& b) { return a.rated < b.rated * (1 - 1e-12); });
}

TreeLoad nccl_tree_load(std::size_t hosts) {
  const DoubleTree tree(hosts);
  TreeLoad load;
  for (std::size_t host = 0; host < hosts; ++host) {
    std::size_t sent = 0, added = 0;
    for (std::size_t t = 0; t < DoubleTree::trees; ++t) {
      const DoubleTree::Node node = tree.node(t, static_cast<CollectiveRank>(host));
      sent += node.children + (node.level < tree.height() ? 1 : 0);
      added += node.children;
    }
    load.sent = std::max(load.sent, sent);
    load.added = std::max(load.added, added);
  }
  return load;
}

}  // namespace straggler
