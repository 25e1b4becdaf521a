#include "scenarios/report/stretches.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace straggler {
namespace {

constexpr std::size_t nowhere = ~std::size_t{0}, most_computed = 16;

}  // namespace

StretchSink::StretchSink(std::vector<TimelineLane> lanes, std::vector<std::pair<TimelineStretch, std::size_t>> stretches, Time end)
    : lanes_(std::move(lanes)), end_(end), bins_(lanes_.size()), computed_(lanes_.size()) {
  std::vector<std::size_t> links;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const TimelineLane& each = lanes_[lane];
    if (each.kind == TimelineLane::Kind::worker || each.kind == TimelineLane::Kind::server) lane_of_.emplace(each.rank, lane);
    if (each.kind == TimelineLane::Kind::worker) bins_[lane].assign(bin_count * phase_count, 0);
    if (each.kind == TimelineLane::Kind::link) links.push_back(each.link);
  }
  for (auto& [stretch, most] : stretches) {
    stretch.links = LinkSamples(links);
    stretches_.push_back(std::move(stretch));
    most_.push_back(most);
  }
}

std::size_t StretchSink::lane_of(Rank rank) const {
  const auto known = lane_of_.find(rank);
  return known == lane_of_.end() ? nowhere : known->second;
}

template <class Add>
void StretchSink::in_stretches(Time start, Time end, const Add& add) {
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    TimelineStretch& stretch = stretches_[i];
    if (stretch.full || end <= stretch.from || start >= stretch.to) continue;
    if (stretch.events == most_[i]) {  // stretches are reported when they end: all that ended before `end` are there
      stretch.full = true;
      stretch.to = std::min(stretch.to, end);
      continue;
    }
    ++stretch.events;
    add(i);
  }
}

void StretchSink::book(std::size_t lane, Phase phase, Time start, Time end, double sign) {
  if (end_ <= Time()) return;
  const double width = static_cast<double>(end_.ticks()) / static_cast<double>(bin_count);
  const double from = static_cast<double>(start.ticks()), to = static_cast<double>(std::min(end, end_).ticks());
  for (auto bin = static_cast<std::size_t>(from / width); bin < bin_count && width * static_cast<double>(bin) < to; ++bin) {
    const double low = std::max(from, width * static_cast<double>(bin)), high = std::min(to, width * static_cast<double>(bin + 1));
    if (high > low) bins_[lane][bin * phase_count + index_of(phase)] += sign * (high - low);
  }
}

void StretchSink::contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t, std::uint32_t,
                               std::uint64_t) {
  const std::size_t lane = lane_of(worker);
  const std::uint64_t staleness = update - 1 - std::min(read_version, update - 1);
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    TimelineStretch& stretch = stretches_[i];
    if (stretch.full || time < stretch.from || time > stretch.to) continue;
    if (stretch.updates.empty() || stretch.updates.back().version != update) {
      stretch.updates.push_back({update, time, {}});
      ++stretch.events;
    }
    if (lane != nowhere) stretch.updates.back().contributions.emplace_back(lane, staleness);
    stretch.events = std::min(stretch.events, most_[i]);
  }
}

void StretchSink::span(Rank worker, Phase phase, Time start, Time end) {
  const std::size_t lane = lane_of(worker);
  if (lane == nowhere || start == end) return;
  Computed computed{start, end, {}};
  in_stretches(start, end, [&](std::size_t i) {
    computed.kept.emplace_back(i, stretches_[i].spans.size());
    stretches_[i].spans.push_back({lane, phase, start, end});
  });
  book(lane, phase, start, end, 1);
  if (phase != Phase::compute) return;
  computed_[lane].push_back(std::move(computed));
  if (computed_[lane].size() > most_computed) computed_[lane].pop_front();
}

void StretchSink::backward_pass(Rank worker, Time from, Time to) {
  const std::size_t lane = lane_of(worker);
  if (lane != nowhere) in_stretches(from, to, [&](std::size_t i) { stretches_[i].backward.push_back({lane, from, to}); });
}

/// Dropped work was computed shortly before: the latest computations in a row that took exactly that long.
void StretchSink::wasted(Rank worker, Time spent) {
  const std::size_t lane = lane_of(worker);
  if (lane == nowhere) return;
  std::deque<Computed>& computed = computed_[lane];
  for (std::size_t last = computed.size(); last-- > 0;) {
    Time sum;
    std::size_t first = last + 1;
    while (first > 0 && sum < spent) {
      --first;
      sum += computed[first].end - computed[first].start;
    }
    if (sum != spent) continue;
    for (std::size_t each = first; each <= last; ++each) {
      for (const auto& [stretch, span] : computed[each].kept) stretches_[stretch].spans[span].phase = Phase::wasted;
      book(lane, Phase::compute, computed[each].start, computed[each].end, -1);
      book(lane, Phase::wasted, computed[each].start, computed[each].end, 1);
    }
    computed.erase(computed.begin() + static_cast<std::ptrdiff_t>(first), computed.begin() + static_cast<std::ptrdiff_t>(last + 1));
    return;
  }
}

void StretchSink::message(const MessageTrace& message) {
  if (lane_of(message.from) == nowhere || lane_of(message.to) == nowhere) return;
  in_stretches(message.sent, message.arrived, [&](std::size_t i) { stretches_[i].messages.push_back(message); });
}

void StretchSink::collective(const CollectiveTrace& collective) {
  in_stretches(collective.start, collective.end, [&](std::size_t i) { stretches_[i].collectives.push_back(collective); });
}

void StretchSink::served(Rank rank, const char* what, Time start, Time end) {
  const std::size_t lane = lane_of(rank);
  if (lane != nowhere) in_stretches(start, end, [&](std::size_t i) { stretches_[i].served.push_back({lane, what, start, end}); });
}

void StretchSink::links(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) {
  for (TimelineStretch& stretch : stretches_)
    if (stretch.whole || (!stretch.full && now >= stretch.from && now <= stretch.to)) stretch.links.add(now, count, bytes_of);
}

void StretchSink::drop_empty_lanes() {
  std::set<Rank> heard;
  std::set<std::string> joint;
  for (const TimelineStretch& stretch : stretches_) {
    for (const MessageTrace& message : stretch.messages) heard.insert({message.from, message.to});
    for (const TimelineStretch::Served& each : stretch.served) heard.insert(lanes_[each.lane].rank);
    for (const CollectiveTrace& each : stretch.collectives) joint.insert(each.what);
  }
  std::vector<std::size_t> place(lanes_.size());
  std::size_t kept = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const TimelineLane::Kind kind = lanes_[lane].kind;
    if (kind == TimelineLane::Kind::server && !heard.contains(lanes_[lane].rank)) continue;
    if (kind == TimelineLane::Kind::collective && !joint.contains(lanes_[lane].name)) continue;
    place[lane] = kept;
    if (kept != lane) {
      lanes_[kept] = std::move(lanes_[lane]);
      bins_[kept] = std::move(bins_[lane]);
    }
    ++kept;
  }
  lanes_.resize(kept);
  bins_.resize(kept);
  for (TimelineStretch& stretch : stretches_)
    for (TimelineStretch::Served& each : stretch.served) each.lane = place[each.lane];
}

void StretchSink::cut(Time at) {
  for (TimelineStretch& stretch : stretches_) stretch.to = std::min(stretch.to, std::max(stretch.from, at));
}

/// Passes of computations that turned out to be for nothing.
void StretchSink::drop_wasted_passes(TimelineStretch& stretch) {
  std::map<std::pair<std::size_t, Time>, Time> begun;  // by lane and end
  for (const TimelineStretch::Span& span : stretch.spans)
    if (span.phase == Phase::wasted) begun.emplace(std::pair(span.lane, span.end), span.start);
  std::erase_if(stretch.backward, [&](const TimelineStretch::Pass& pass) {
    const auto around = begun.lower_bound(std::pair(pass.lane, pass.end));
    return around != begun.end() && around->first.first == pass.lane && around->second <= pass.start;
  });
}

void StretchSink::finish() {
  drop_empty_lanes();
  for (TimelineStretch& stretch : stretches_) {
    const auto beyond = [&](const auto& each) { return each.start >= stretch.to || each.end <= stretch.from; };
    std::erase_if(stretch.served, beyond);
    std::erase_if(stretch.collectives, beyond);
    std::erase_if(stretch.spans, beyond);
    std::erase_if(stretch.backward, beyond);
    drop_wasted_passes(stretch);
    std::erase_if(stretch.messages, [&](const MessageTrace& each) { return each.sent >= stretch.to; });
    std::erase_if(stretch.updates, [&](const TimelineStretch::Update& each) { return each.time > stretch.to; });
    const auto clip = [&](auto& each) {
      each.start = std::max(each.start, stretch.from);
      each.end = std::min(each.end, stretch.to);
    };
    std::ranges::for_each(stretch.spans, clip);
    std::ranges::for_each(stretch.backward, clip);
  }
}

}  // namespace straggler
