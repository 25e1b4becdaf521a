#include "sim/collectives/critical_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace straggler {
namespace {

constexpr double same = 1e-9;  // relative: of two times that differ by rounding only

CriticalPath::Chain scaled_sum(const CriticalPath::Chain& a, const CriticalPath::Chain& b, double factor) {
  return {a.latency + b.latency * factor, a.flowing + b.flowing * factor, a.arithmetic + b.arithmetic * factor, a.bytes + b.bytes * factor};
}

}  // namespace

CriticalPath::CriticalPath(const CollectiveSchedule& schedule, const CollectiveCosts& costs, Transport& transport,
                           std::span<const std::uint32_t> ranks)
    : schedule_(schedule),
      costs_(costs),
      transport_(transport),
      ranks_(ranks),
      contention_(transport.contention()),
      clocks_(schedule.ranks()),
      next_(schedule.ranks()),
      sending_(schedule.ranks()),
      links_(transport.fabric().links()) {}

const CriticalPath::Chain& CriticalPath::longest() const { return clocks_[longest_]; }

std::vector<CriticalPath::LinkLoad> CriticalPath::loads() const {
  std::vector<LinkLoad> all;
  all.reserve(used_.size());
  for (const LinkId l : used_) all.push_back({l, links_[l].all_bytes, links_[l].all_rounding, links_[l].bytes_per_second});
  return all;
}

void CriticalPath::add(const Stretch& stretch) {
  constexpr std::size_t most_passes = 64;
  collect(stretch.first);
  Chain before = longest(), step;
  double last_step = -1;
  std::size_t passes = 0;
  for (bool steady = false; passes < stretch.rounds && passes < most_passes && !steady; ++passes) {
    steady = pass();
    step = scaled_sum(longest(), before, -1);
    before = longest();
    steady |= std::abs(step.total() - last_step) <= same * step.total();
    last_step = step.total();
  }
  const double left = static_cast<double>(stretch.rounds - passes);
  for (const Participant& participant : participants_) clocks_[participant.rank] = scaled_sum(clocks_[participant.rank], step, left);
  for (const LinkId l : of_round_) {
    Link& link = links_[l];
    if (link.all_bytes == 0) used_.push_back(l);
    link.all_bytes += link.bytes * static_cast<double>(stretch.rounds);
    link.all_rounding += link.rounding * static_cast<double>(stretch.rounds);
    link.bytes = link.rounding = 0;
  }
  messages_.clear();
  participants_.clear();
  hops_.clear();
  hop_bytes_.clear();
  of_round_.clear();
}

void CriticalPath::collect(std::size_t round) {
  const double per_message = costs_.per_message.seconds();
  const double library = schedule_.round_cost(round).seconds();
  const double latency_share = schedule_.latency_share(round);
  for (std::size_t r = 0; r < schedule_.ranks(); ++r) {
    const auto rank = static_cast<CollectiveRank>(r);
    schedule_.part(rank, round, part_);
    if (part_.sends.empty() && part_.receives == 0) continue;
    sending_[rank] = per_message * static_cast<double>(part_.sends.size());
    const double arithmetic = Time::from_seconds(static_cast<double>(part_.reduced_bytes) * costs_.reduce_seconds_per_byte).seconds();
    const double receiving =
        per_message * static_cast<double>(part_.receives) + costs_.per_byte * static_cast<double>(part_.received_bytes) + library;
    participants_.push_back({rank, receiving, arithmetic});
    for (const RoundPart::Send& send : part_.sends) {
      sending_[rank] += costs_.per_byte * static_cast<double>(send.bytes);
      transport_.plan(place(rank), place(send.to), static_cast<double>(send.bytes) * schedule_.wire_factor(rank, send.to), carriage_);
      messages_.push_back({rank, send.to, hops_.size(), 0, carriage_.before.seconds() * latency_share,
                           carriage_.after.seconds() * latency_share, carriage_.bytes, carriage_.most_bytes_per_second});
      if (carriage_.bytes > 0) put_on_links(carriage_, static_cast<double>(send.bytes));
    }
  }
}

void CriticalPath::put_on_links(const Carriage& carriage, double payload) {
  if (weight_ == 0) weight_ = carriage.weight;
  messages_.back().hops = carriage.links.size();
  for (std::size_t i = 0; i < carriage.links.size(); ++i) {
    const double volume = carriage.volumes.empty() ? 1 : carriage.volumes[i];
    Link& link = links_[carriage.links[i]];
    if (link.bytes == 0) of_round_.push_back(carriage.links[i]);
    if (link.bytes_per_second == 0) link.bytes_per_second = transport_.fabric().bytes_per_second(carriage.links[i]);
    link.bytes += carriage.bytes * volume;
    link.rounding += carriage.bytes / payload * volume;
    hops_.push_back(carriage.links[i]);
    hop_bytes_.push_back(carriage.bytes * volume);
  }
}

/// One more round like this one. True if it put forward all clocks alike: so will the next.
bool CriticalPath::pass() {
  for (const LinkId l : of_round_) links_[l].seen = false;
  for (const Participant& participant : participants_) next_[participant.rank] = clocks_[participant.rank];
  for (std::size_t m = 0; m < messages_.size(); ++m) begin(m);
  for (const Message& message : messages_) finish(message);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Participant& participant : participants_) {
    Chain& clock = next_[participant.rank];
    clock.latency += participant.receiving;
    clock.arithmetic += participant.arithmetic;
    const double step = clock.total() - clocks_[participant.rank].total();
    least = std::min(least, step);
    most = std::max(most, step);
    clocks_[participant.rank] = clock;
    if (clock.total() > longest().total()) longest_ = participant.rank;
  }
  return most - least <= same * most;
}

void CriticalPath::begin(std::size_t number) {
  Message& message = messages_[number];
  message.waited_for = clocks_[message.to].total() > clocks_[message.from].total() ? message.to : message.from;
  message.begin = chain_to(message, 0).total();
  for (std::size_t i = message.first_hop; i < message.first_hop + message.hops; ++i) come(links_[hops_[i]], number, hop_bytes_[i]);
}

void CriticalPath::come(Link& link, std::size_t number, double bytes) {
  const double begin = messages_[number].begin;
  if (!link.seen || begin < link.first) {
    link.first = begin;
    link.first_message = number;
  }
  if (!link.seen || begin > link.last * (1 + same)) {
    link.last = begin;
    link.last_message = number;
    link.last_bytes = bytes;
  } else if (begin >= link.last * (1 - same)) {
    link.last_bytes += bytes;
  }
  link.seen = true;
}

/// The events that its flow waits for, and the latency `after` it.
CriticalPath::Chain CriticalPath::chain_to(const Message& message, double after) const {
  Chain chain = clocks_[message.waited_for];
  chain.latency += (message.before + after) + sending_[message.from];
  return chain;
}

/// Both its ends have waited for it.
void CriticalPath::finish(const Message& message) {
  End end{message.begin, 0, &message};
  if (message.hops > 0) {
    end.flowing = message.bytes / message.most_bytes_per_second;
    for (std::size_t i = message.first_hop; i < message.first_hop + message.hops; ++i) {
      const Link& link = links_[hops_[i]];
      const End there = contention_ ? end_on(message, link) : End{message.begin, hop_bytes_[i] / link.bytes_per_second, &message};
      if (there.when() > end.when()) end = there;
    }
  }
  Chain chain;
  for (const CollectiveRank rank : {message.from, message.to}) {
    if (end.when() + message.after <= next_[rank].total()) continue;
    if (chain.total() == 0) {
      chain = chain_to(*end.after, message.after);
      chain.flowing += end.flowing;
      if (message.hops > 0) chain.bytes += end.after->bytes;
    }
    next_[rank] = chain;
  }
}

/// The link is busy from the start of the first message, and carries the last ones only after their start. Earlier messages finish sooner
/// if the link can carry them before that.
CriticalPath::End CriticalPath::end_on(const Message& message, const Link& link) const {
  const End all{link.first, link.bytes / link.bytes_per_second, &messages_[link.first_message]};
  if (message.begin < link.last * (1 - same)) {
    const double early = (link.bytes - link.last_bytes) / link.bytes_per_second;
    return link.first + early <= link.last ? End{link.first, early, all.after} : all;
  }
  const End last{link.last, link.last_bytes / link.bytes_per_second, &messages_[link.last_message]};
  return last.when() > all.when() ? last : all;
}

}  // namespace straggler
