#include <algorithm>
#include <limits>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

namespace {

constexpr double mebi = 1 << 20;

std::string rate(double bytes_per_second) { return format_quantity(bytes_per_second, Dimension::rate); }

/// `base`: what a link takes from the network's where it says nothing itself; null: it is the network's.
void read_rates(Section& link, const LinkSpec* base, LinkRates& rates) {
  if (base == nullptr && !link.has("up") && !link.has("down")) link.require("bandwidth", "write a rate such as 1Gbps");
  if (base == nullptr && !link.has("bandwidth") && link.has("up") != link.has("down"))
    link.require(link.has("up") ? "down" : "up", "write a rate such as 1Gbps, or bandwidth for both directions");
  rates.both = link.measure("bandwidth", ValueType::rate, any_rate());
  rates.up = link.measure("up", ValueType::rate, any_rate());
  rates.down = link.measure("down", ValueType::rate, any_rate());
}

/// A burst of its own comes with a peak of its own, or none. `burst: 0B`: no bucket. False: what stands there could not be read.
bool read_burst(Section& link, LinkSpec& spec) {
  const std::optional<double> burst = link.measure("burst", ValueType::bytes, Range::between(0, 1e15));
  const std::optional<double> peak = link.measure("peak", ValueType::rate, any_rate());
  if (burst) {
    spec.burst = *burst > 0 ? burst : std::nullopt;
    spec.peak = std::nullopt;
  }
  if (peak) spec.peak = peak;
  return burst.has_value() == link.has("burst") && peak.has_value() == link.has("peak");
}

bool peak_fits(const LinkSpec& link) { return !link.peak || (link.burst && *link.peak > std::max(link.up, link.down)); }

void check_link(Section& link, const LinkRates& rates, const LinkSpec& spec, bool half_duplex, bool burst_read) {
  if (const std::string what = rates.conflict(spec, half_duplex); !what.empty()) {
    link.context().problems.add(link.place(), link.path(), what);
    return;
  }
  if (!burst_read || !spec.peak || (!rates.any() && !link.has("burst") && !link.has("peak"))) return;
  if (peak_fits(spec)) return;
  if (!spec.burst && !link.misspelt({"burst"}))
    link.problem("peak", "says how fast a burst passes, and there is none; add burst: 128KiB or the like, or remove peak");
  else if (spec.burst)
    link.problem("peak",
                 rate(*spec.peak) + " is not above the bandwidth of the link; write a peak above " + rate(std::max(spec.up, spec.down)));
}

void read_network_link(Section link, NetworkSpec& network) {
  LinkSpec& spec = network.link;
  LinkRates rates;
  read_rates(link, nullptr, rates);
  rates.apply(spec);
  spec.latency = link.required_measure("latency", ValueType::time, any_time(), "write a time such as 50us");
  const bool burst_read = read_burst(link, spec);
  network.half_duplex = link.choice("duplex", {"full", "half"}, "full") == "half";
  link.finish();
  if (rates.any()) check_link(link, rates, spec, network.half_duplex, burst_read);
}

std::optional<LinkSpec> read_intra(Section intra) {
  if (!intra.given()) return std::nullopt;
  LinkSpec spec;
  spec.up = spec.down = intra.required_measure("bandwidth", ValueType::rate, any_rate(), "write a rate such as 12GB/s");
  spec.latency = intra.required_measure("latency", ValueType::time, any_time(), "write a time such as 5us");
  intra.finish();
  return spec;
}

/// One flow for the whole has one beginning.
void check_start(Section& collective, const CollectiveSpec& spec) {
  if (collective.context().problems.any()) return;  // what stands there may not have been read
  const bool skewed = spec.start == "as_they_come";
  if (skewed && spec.fidelity != "stepwise")
    collective.problem(
        "start", "as_they_come lets every worker begin its part when it comes, and fluid is one flow for all; add fidelity: stepwise");
  if (!skewed && spec.eager_up_to)
    collective.problem("eager_up_to",
                       "says which messages leave before their receiver has come, and all start together; add start: as_they_come");
}

/// Where `overlap` alone is asked for, buckets are those of PyTorch's DistributedDataParallel (`bucket_cap_mb`, and
/// `dist._DEFAULT_FIRST_BUCKET_BYTES`; Li et al., PyTorch Distributed, 2020).
CollectiveSpec read_collective(Section collective) {
  CollectiveSpec spec;
  if (const YamlNode* algorithm = collective.find("algorithm"); algorithm != nullptr && algorithm->type == YamlNode::Type::map) {
    Kind kind = read_kind(collective.context(), algorithm, collective.path_of("algorithm"), collective.place_of("algorithm"),
                          KindGroup::collective, "");
    spec.algorithm = std::move(kind.name);
    spec.parameters = std::move(kind.parameters);
  } else {
    std::vector<std::string> algorithms = collective.context().vocabulary.names(KindGroup::collective);
    algorithms.insert(algorithms.begin(), "auto");
    spec.algorithm = collective.choice("algorithm", algorithms, "auto");
  }
  spec.fidelity = collective.choice("fidelity", {"fluid", "stepwise"}, "fluid");
  spec.start = collective.choice("start", {"together", "as_they_come"}, "together");
  spec.eager_up_to = collective.measure("eager_up_to", ValueType::bytes, Range::at_least(0));
  spec.reduce_rate = collective.measure("reduce_rate", ValueType::rate, any_rate());
  spec.bucket = collective.measure("bucket", ValueType::bytes, Range::between(1, 1e15));
  spec.first_bucket = collective.measure("first_bucket", ValueType::bytes, Range::between(1, 1e15));
  spec.overlap = collective.flag("overlap", false);
  collective.finish();
  check_start(collective, spec);
  if (collective.has("bucket")) return spec;
  if (spec.overlap) {
    spec.bucket = 25 * mebi;
    if (!spec.first_bucket) spec.first_bucket = mebi;
  } else if (collective.has("first_bucket") && !collective.misspelt({"bucket", "overlap"})) {
    collective.problem("first_bucket", "is the first of several buckets, and there is one; add bucket: 25MiB");
  }
  return spec;
}

std::vector<SegmentSpec> read_segments(ReadContext& context, const YamlNode* node, const std::string& path) {
  std::vector<SegmentSpec> segments;
  if (node == nullptr) return segments;
  if (node->type != YamlNode::Type::sequence) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a list such as [{up_to: 64KiB, bandwidth_factor: 0.8}]");
    return segments;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    Section section(context, &node->items[i], path + "[" + std::to_string(i) + "]", node->items[i].place);
    SegmentSpec segment;
    const bool last = i + 1 == node->items.size();
    if (!last) section.require("up_to", "write a size such as 64KiB; only the last segment is for any size");
    const std::optional<double> up_to = section.measure("up_to", ValueType::bytes, Range::at_least(1));
    segment.up_to = up_to.value_or(std::numeric_limits<double>::infinity());
    segment.latency_factor = section.measure("latency_factor", ValueType::number, Range::between(0, 1e6)).value_or(1);
    segment.bandwidth_factor = section.measure("bandwidth_factor", ValueType::number, Range::between(1e-6, 1e6)).value_or(1);
    section.finish();
    if (up_to && !segments.empty() && segments.back().up_to >= *up_to && segments.back().up_to < std::numeric_limits<double>::infinity())
      context.problems.add(section.path_of("up_to"),
                           format_quantity(*up_to, Dimension::bytes) + " is not above that of the segment before, " +
                               format_quantity(segments.back().up_to, Dimension::bytes) + "; write the segments in ascending order");
    segments.push_back(segment);
  }
  return segments;
}

ProtocolSpec read_protocol(Section protocol) {
  ProtocolSpec spec;
  spec.per_message = protocol.measure("per_message", ValueType::time, any_time()).value_or(0);
  spec.copy_rate = protocol.measure("copy_rate", ValueType::rate, any_rate());
  spec.cores = protocol.count("cores", Range::between(1, 1e6));
  spec.segments = read_segments(protocol.context(), protocol.find("segments"), protocol.path_of("segments"));
  protocol.finish();
  return spec;
}

BackgroundSpec read_flow(Section flow) {
  BackgroundSpec spec;
  for (const auto& [key, end] : {std::pair("from", &spec.from), std::pair("to", &spec.to)}) {
    flow.require(key, "write the name of an end point such as worker/0 or server/0");
    *end = flow.word(key);
  }
  spec.on = flow.required_measure("on", ValueType::time, some_time(), "write for how long it flows, a time such as 2s");
  spec.off = flow.measure("off", ValueType::time, any_time()).value_or(0);
  spec.start = flow.measure("start", ValueType::time, any_time()).value_or(0);
  spec.random = flow.flag("random", false);
  spec.rate = flow.measure("rate", ValueType::rate, any_rate());
  flow.finish();
  return spec;
}

std::vector<BackgroundSpec> read_background(ReadContext& context, const YamlNode* node, const std::string& path) {
  std::vector<BackgroundSpec> flows;
  if (node == nullptr) return flows;
  if (node->type != YamlNode::Type::sequence) {
    context.problems.add(node->place, path,
                         "is " + what_stands(*node) + "; write a list such as [{from: worker/0, to: worker/1, on: 2s, off: 3s}]");
    return flows;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    flows.push_back(read_flow(Section(context, &node->items[i], path + "[" + std::to_string(i) + "]", node->items[i].place)));
  return flows;
}

}  // namespace

void LinkRates::apply(LinkSpec& link) const {
  link.up = up.value_or(both.value_or(link.up));
  link.down = down.value_or(both.value_or(link.down));
}

std::string LinkRates::conflict(const LinkSpec& link, bool half_duplex) const {
  if (both && up && down) return "has bandwidth beside up and down, which leave it nothing to say; keep bandwidth, or up and down";
  if (half_duplex && link.up != link.down)
    return "has up " + rate(link.up) + " and down " + rate(link.down) +
           ", and with duplex: half both directions share one bandwidth; write bandwidth alone";
  return {};
}

std::optional<LinkSpec> read_link_override(Section& owner, const NetworkSpec& network) {
  const YamlNode* node = owner.find("link");
  if (node == nullptr) return std::nullopt;
  Section link(owner.context(), node, owner.path_of("link"), owner.place_of("link"));
  LinkSpec spec = network.link;
  LinkRates rates;
  read_rates(link, &network.link, rates);
  rates.apply(spec);
  spec.latency = link.measure("latency", ValueType::time, any_time()).value_or(spec.latency);
  const bool burst_read = read_burst(link, spec);
  if (link.find("duplex") != nullptr) link.problem("duplex", "holds for the whole network; write it in cluster.network.link");
  if (link.node()->items.empty() && node->type == YamlNode::Type::map)
    link.context().problems.add(link.place(), link.path(), "overrides nothing; write bandwidth, latency or both");
  link.finish();
  if (network.link.up > 0 && network.link.down > 0)
    check_link(link, rates, spec, network.half_duplex, burst_read && peak_fits(network.link));
  return spec;
}

NetworkSpec read_network(Section network) {
  NetworkSpec spec;
  ReadContext& context = network.context();
  const auto kind = [&](const char* key, KindGroup group, const char* fallback) {
    return read_kind(context, network.find(key), network.path_of(key), network.place_of(key), group, fallback);
  };
  spec.topology = kind("topology", KindGroup::topology, "star");
  if (const YamlNode* link = network.require("link", "write link: {bandwidth: 1Gbps, latency: 50us}"))
    read_network_link(Section(context, link, network.path_of("link"), network.place_of("link")), spec);
  spec.intra = read_intra(network.section("intra"));
  spec.sharing = kind("sharing", KindGroup::sharing, "max_min");
  spec.protocol = read_protocol(network.section("protocol"));
  spec.background = read_background(context, network.find("background"), network.path_of("background"));
  spec.collective = read_collective(network.section("collective"));
  network.finish();
  return spec;
}

}  // namespace straggler
