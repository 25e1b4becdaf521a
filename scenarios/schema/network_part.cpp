#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/schema/collective_part.hpp"
#include "scenarios/schema/intra_part.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/read_parts.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {
namespace {

std::string rate(double bytes_per_second) { return format_quantity(bytes_per_second, Dimension::rate); }

/// The keys of a link. Their combination is checked by hand, since a link may build on another one.
Part<LinkSpec> link_keys(const std::string& otherwise) {
  const auto rate_key = [&](const char* name, const char* meaning, const char* unless) {
    return ScenarioKey{.name = name,
                       .type = ValueType::rate,
                       .range = any_rate(),
                       .meaning = meaning,
                       .otherwise = otherwise.empty() ? unless : otherwise};
  };
  const auto by_hand = [](ScenarioKey key, auto write) {
    Field<LinkSpec> field;
    field.key = std::move(key);
    field.read = [](Section&, LinkSpec&) {};
    field.write = [write](Texts& out, const LinkSpec& spec, const WriteContext& context) { write(out, spec, context); };
    field.same = [](const LinkSpec& a, const LinkSpec& b) { return a == b; };
    return field;
  };
  const auto rate_text = [](double value) { return text_of_value(ValueType::rate, value); };
  return Part<LinkSpec>({
      by_hand(rate_key("bandwidth", "bandwidth of each direction", "required, or `up` and `down`"),
              [=](Texts& out, const LinkSpec& spec, const WriteContext&) {
                if (spec.up == spec.down) out.emplace_back("bandwidth", rate_text(spec.up));
              }),
      by_hand(rate_key("up", "bandwidth out of the host", "`bandwidth`"),
              [=](Texts& out, const LinkSpec& spec, const WriteContext&) {
                if (spec.up != spec.down) out.emplace_back("up", rate_text(spec.up));
              }),
      by_hand(rate_key("down", "bandwidth into the host", "`bandwidth`"),
              [=](Texts& out, const LinkSpec& spec, const WriteContext&) {
                if (spec.up != spec.down) out.emplace_back("down", rate_text(spec.down));
              }),
      by_hand({.name = "latency",
               .type = ValueType::time,
               .range = any_time(),
               .meaning = "latency of a host's link; a message crosses the sender's and the receiver's, so it takes twice this time, also "
                          "over a cable of `full`; cables between switches add theirs",
               .required = otherwise.empty(),
               .otherwise = otherwise},
              [](Texts& out, const LinkSpec& spec, const WriteContext&) {
                out.emplace_back("latency", text_of_value(ValueType::time, spec.latency));
              }),
      // If only the network's link has a bucket, `burst: 0B` is written.
      by_hand({.name = "burst",
               .type = ValueType::bytes,
               .range = Range::between(0, 1e15),
               .meaning = "bytes that pass at `peak` after a link was idle (token bucket); `0B`: none",
               .otherwise = otherwise.empty() ? "no bucket" : otherwise},
              [](Texts& out, const LinkSpec& spec, const WriteContext& context) {
                if (spec.burst || (context.link != nullptr && context.link->burst))
                  out.emplace_back("burst", text_of_value(ValueType::bytes, spec.burst.value_or(0)));
              }),
      by_hand(rate_key("peak", "rate at which a burst passes, above the bandwidth", "practically at once"),
              [=](Texts& out, const LinkSpec& spec, const WriteContext&) {
                if (spec.peak) out.emplace_back("peak", rate_text(*spec.peak));
              }),
  });
}

/// Those of the network's own link.
const Part<LinkSpec>& network_link_keys() {
  static const Part<LinkSpec> part = link_keys("");
  return part;
}

/// The value of one of these keys; nothing if it is absent or wrong.
std::optional<double> link_value(Section& link, const char* name) {
  static const std::vector<ScenarioKey> keys = network_link_keys().keys();
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& each) { return each.name == name; });
  const std::optional<Value> value = link.value(key->parameter());
  return value ? std::optional(std::get<double>(*value)) : std::nullopt;
}

/// `base`: the link's defaults for fields that it does not give; null: it is the network's.
void read_rates(Section& link, const LinkSpec* base, LinkRates& rates) {
  if (base == nullptr && !link.has("up") && !link.has("down")) link.require("bandwidth", "write a rate such as 1Gbps");
  if (base == nullptr && !link.has("bandwidth") && link.has("up") != link.has("down"))
    link.require(link.has("up") ? "down" : "up", "write a rate such as 1Gbps, or bandwidth for both directions");
  rates.both = link_value(link, "bandwidth");
  rates.up = link_value(link, "up");
  rates.down = link_value(link, "down");
}

/// A burst without a peak beside it has no peak. `burst: 0B`: no bucket. False: the value could not be read.
bool read_burst(Section& link, LinkSpec& spec) {
  const std::optional<double> burst = link_value(link, "burst");
  const std::optional<double> peak = link_value(link, "peak");
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
    link.problem("peak", "is the rate of a burst, and there is none; add burst: 128KiB or the like, or remove peak");
  else if (spec.burst)
    link.problem("peak",
                 rate(*spec.peak) + " is not above the bandwidth of the link; write a peak above " + rate(std::max(spec.up, spec.down)));
}

const ScenarioKey& duplex_key() {
  static const ScenarioKey key{.name = "duplex",
                               .type = ValueType::choice,
                               .meaning = "`half`: both directions of every cable share one bandwidth",
                               .fallback = "full",
                               .choices = {"full", "half"}};
  return key;
}

void read_network_link(Section link, NetworkSpec& network) {
  LinkSpec& spec = network.link;
  LinkRates rates;
  read_rates(link, nullptr, rates);
  rates.apply(spec);
  link.require("latency", "write a time such as 50us");
  spec.latency = link_value(link, "latency").value_or(0);
  const bool burst_read = read_burst(link, spec);
  const std::optional<Value> duplex = link.value(duplex_key().parameter());
  network.half_duplex = duplex && std::get<std::string>(*duplex) == "half";
  link.finish();
  if (rates.any()) check_link(link, rates, spec, network.half_duplex, burst_read);
}

Field<NetworkSpec> network_link_field() {
  Field<NetworkSpec> field;
  std::vector<ScenarioKey> keys = network_link_keys().keys();
  keys.push_back(duplex_key());
  field.key = {.name = "link", .required = true, .shape = ScenarioKey::Shape::map, .keys = std::move(keys)};
  field.read = [](Section& network, NetworkSpec& spec) {
    if (const YamlNode* link = network.require("link", "write link: {bandwidth: 1Gbps, latency: 50us}"))
      read_network_link(Section(network.context(), link, network.path_of("link"), network.place_of("link")), spec);
  };
  field.write = [](Texts& out, const NetworkSpec& spec, const WriteContext& context) {
    Texts texts = network_link_keys().texts(spec.link, {context.vocabulary});
    texts.emplace_back("duplex", spec.half_duplex ? "half" : "full");
    out.emplace_back("link", flow_map(texts));
  };
  field.same = [](const NetworkSpec& a, const NetworkSpec& b) { return a.link == b.link && a.half_duplex == b.half_duplex; };
  return field;
}

Part<SegmentSpec> segment_part() {
  Field<SegmentSpec> up_to;  // infinite: any size
  up_to.key = {.name = "up_to",
               .type = ValueType::bytes,
               .range = Range::at_least(1),
               .meaning = "for messages of at most this size; only the last segment may leave it out",
               .otherwise = "any size"};
  up_to.read = [key = up_to.key](Section& section, SegmentSpec& spec) {
    const std::optional<Value> value = section.value(key.parameter());
    spec.up_to = value ? std::get<double>(*value) : std::numeric_limits<double>::infinity();
  };
  up_to.write = [](Texts& out, const SegmentSpec& spec, const WriteContext&) {
    if (std::isfinite(spec.up_to)) out.emplace_back("up_to", text_of_value(ValueType::bytes, spec.up_to));
  };
  up_to.same = [](const SegmentSpec& a, const SegmentSpec& b) { return a.up_to == b.up_to; };
  return Part<SegmentSpec>({
      up_to,
      field(&SegmentSpec::latency_factor, {.name = "latency_factor",
                                           .type = ValueType::number,
                                           .range = Range::between(0, 1e6),
                                           .meaning = "times the latency of the links"}),
      field(
          &SegmentSpec::bandwidth_factor,
          {.name = "bandwidth_factor", .type = ValueType::number, .range = Range::between(1e-6, 1e6), .meaning = "times their bandwidth"}),
  });
}

void check_segment(Section& section, SegmentSpec& segment, const std::vector<SegmentSpec>& before) {
  if (std::isfinite(segment.up_to) && !before.empty() && before.back().up_to >= segment.up_to && std::isfinite(before.back().up_to))
    section.context().problems.add(section.path_of("up_to"),
                                   format_quantity(segment.up_to, Dimension::bytes) + " is not above that of the previous segment, " +
                                       format_quantity(before.back().up_to, Dimension::bytes) + "; write the segments in ascending order");
}

Part<ProtocolSpec> protocol_part() {
  const auto up_to_but_last = [](Section& section, std::size_t i, std::size_t n) {
    if (i + 1 < n) section.require("up_to", "write a size such as 64KiB; only the last segment is for any size");
  };
  return Part<ProtocolSpec>({
      field(&ProtocolSpec::per_message,
            {.name = "per_message", .type = ValueType::time, .range = any_time(), .meaning = "processor time of a message, on each side"}),
      field(&ProtocolSpec::copy_rate,
            {.name = "copy_rate",
             .type = ValueType::rate,
             .range = any_rate(),
             .meaning = "bytes a second that the processor copies, packs or checks on each side, in addition to `per_message`",
             .otherwise = "free"}),
      field(&ProtocolSpec::cores,
            {.name = "cores",
             .type = ValueType::count,
             .range = Range::between(1, 1e6),
             .meaning = "cores of one machine that emulates the whole cluster, in namespaces or virtual machines: at most this many "
                        "messages of all ranks are handled at a time; an all-reduce must be `stepwise`",
             .otherwise = "each rank its own"}),
      field(&ProtocolSpec::connection,
            {.name = "connection",
             .type = ValueType::rate,
             .range = any_rate(),
             .meaning = "highest rate of one message between two hosts, as of one TCP connection ([model.md](model.md#network))",
             .otherwise = "its fair share"}),
      list(&ProtocolSpec::segments,
           {.name = "segments",
            .meaning = "measured behaviour by message size, below",
            .remedy = "write a list such as [{up_to: 64KiB, bandwidth_factor: 0.8}]",
            .own_table = true},
           segment_part(), {.before = up_to_but_last, .check = check_segment}),
  });
}

Part<BackgroundSpec> background_part() {
  const std::string remedy = "write the name of an end point such as worker/0 or server/0";
  return Part<BackgroundSpec>({
      field(&BackgroundSpec::from, {.name = "from",
                                    .type = ValueType::text,
                                    .meaning = "sender: an end point of the cluster",
                                    .required = true,
                                    .remedy = remedy,
                                    .form = "`worker/N` or `server/N`"}),
      field(&BackgroundSpec::to, {.name = "to",
                                  .type = ValueType::text,
                                  .meaning = "receiver: another end point",
                                  .required = true,
                                  .remedy = remedy,
                                  .form = "`worker/N` or `server/N`"}),
      field(&BackgroundSpec::on, {.name = "on",
                                  .type = ValueType::time,
                                  .range = some_time(),
                                  .meaning = "duration of the flow",
                                  .required = true,
                                  .remedy = "write the duration of the flow, a time such as 2s"}),
      field(&BackgroundSpec::off, {.name = "off", .type = ValueType::time, .range = any_time(), .meaning = "pause between two flows"}),
      field(&BackgroundSpec::start, {.name = "start", .type = ValueType::time, .range = any_time(), .meaning = "start of the first flow"}),
      field(&BackgroundSpec::random, {.name = "random", .meaning = "`on` and `off` are means of exponential distributions"}),
      field(&BackgroundSpec::rate,
            {.name = "rate", .type = ValueType::rate, .range = any_rate(), .meaning = "rate cap", .otherwise = "its fair share"}),
  });
}

}  // namespace

void LinkRates::apply(LinkSpec& link) const {
  link.up = up.value_or(both.value_or(link.up));
  link.down = down.value_or(both.value_or(link.down));
}

std::string LinkRates::conflict(const LinkSpec& link, bool half_duplex) const {
  if (both && up && down) return "has bandwidth beside up and down, which already give both directions; keep bandwidth, or up and down";
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
  spec.latency = link_value(link, "latency").value_or(spec.latency);
  const bool burst_read = read_burst(link, spec);
  if (link.find("duplex") != nullptr) link.problem("duplex", "holds for the whole network; write it in cluster.network.link");
  if (link.node()->items.empty() && node->type == YamlNode::Type::map)
    link.context().problems.add(link.place(), link.path(), "overrides nothing; write bandwidth, latency or both");
  link.finish();
  if (network.link.up > 0 && network.link.down > 0)
    check_link(link, rates, spec, network.half_duplex, burst_read && peak_fits(network.link));
  return spec;
}

std::vector<ScenarioKey> link_override_keys() { return link_keys("the network's").keys(); }

std::string link_override_text(const LinkSpec& link, const WriteContext& context) {
  return flow_map(network_link_keys().texts(link, context));
}

const Part<NetworkSpec>& network_part() {
  static const Part<NetworkSpec> part({
      kind(&NetworkSpec::topology, {.name = "topology",
                                    .meaning = "how hosts are connected: `straggler list topologies`",
                                    .kind = KindGroup::topology,
                                    .fallback_kind = "star"}),
      network_link_field(),
      map(&NetworkSpec::intra, {.name = "intra", .otherwise = "free"}, intra_part(), check_intra),
      kind(&NetworkSpec::sharing, {.name = "sharing",
                                   .meaning = "how flows share links: `straggler list sharing`",
                                   .kind = KindGroup::sharing,
                                   .fallback_kind = "max_min"}),
      written_if<NetworkSpec>(
          [](const NetworkSpec& spec) { return spec.jitter.name != "none"; },
          kind(&NetworkSpec::jitter,
               {.name = "jitter",
                .meaning = "factor on the time per byte on a host's link, drawn for each link and span: `straggler list jitter`",
                .fallback = "none",
                .kind = KindGroup::jitter,
                .fallback_kind = "none"},
               Part<NetworkSpec>({field(&NetworkSpec::jitter_every, {.name = "every",
                                                                     .type = ValueType::time,
                                                                     .range = Range::between(1e-6, longest_time),
                                                                     .meaning = "length of a span, which has one factor"})}))),
      map(&NetworkSpec::protocol, {.name = "protocol", .block = true}, protocol_part()),
      field(&NetworkSpec::energy_per_byte, {.name = "energy_per_byte",
                                            .type = ValueType::energy_per_byte,
                                            .range = Range::between(0, 1e6),
                                            .meaning = "energy of the network for each byte of a message, once, whatever its way",
                                            .otherwise = "not counted"}),
      list(&NetworkSpec::background,
           {.name = "background",
            .meaning = "other traffic, below",
            .remedy = "write a list such as [{from: worker/0, to: worker/1, on: 2s, off: 3s}]",
            .own_table = true},
           background_part()),
      map(&NetworkSpec::collective, {.name = "collective"}, collective_part(), check_collective),
  });
  return part;
}

}  // namespace straggler
