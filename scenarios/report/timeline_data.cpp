#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "scenarios/report/chart_json.hpp"
#include "scenarios/report/stretches.hpp"

namespace straggler {
namespace {

using LaneKind = TimelineLane::Kind;
constexpr double parts = 1e6;  // of a stretch, in which its times are given
constexpr std::size_t most_link_points = 400;

class StretchJson {
 public:
  /// `end`: of the stretch, or of the run if the stretch covers all of it.
  StretchJson(const StretchSink& sink, const TimelineStretch& stretch, Time end) : sink_(sink), stretch_(stretch), end_(end) {
    for (std::size_t lane = 0; lane < sink.lanes().size(); ++lane)
      if (sink.lanes()[lane].kind == LaneKind::worker || sink.lanes()[lane].kind == LaneKind::server)
        lane_of_[sink.lanes()[lane].rank] = lane;
  }

  /// Its name and its place in the run.
  ChartJson head() const {
    return {{"name", stretch_.name},
            {"from", chart_number(stretch_.from.seconds())},
            {"seconds", chart_number((end_ - stretch_.from).seconds())}};
  }

  ChartJson json() const {
    // Of ordered JSON a reference ends with the next key: each list is made apart.
    ChartJson json = head(), spans = ChartJson::array(), served = ChartJson::array(), messages = ChartJson::array(),
              collectives = ChartJson::array(), updates = ChartJson::array();
    for (const TimelineStretch::Span& span : stretch_.spans)
      append(spans, {number(span.lane), static_cast<std::int64_t>(span.phase), at(span.start), at(span.end)});
    for (const TimelineStretch::Served& each : stretch_.served)
      served.push_back(ChartJson::array({each.lane, each.what, at(each.start), at(each.end)}));
    for (const MessageTrace& each : stretch_.messages) messages.push_back(message(each));
    for (const CollectiveTrace& each : stretch_.collectives)
      collectives.push_back(ChartJson::array({each.what, each.piece, each.pieces, each.members, each.bytes, at(each.start), at(each.end),
                                              each.waited_for ? static_cast<std::int64_t>(*each.waited_for) : std::int64_t{-1}}));
    for (const TimelineStretch::Update& update : stretch_.updates) {
      ChartJson one = ChartJson::array({update.version, at(update.time)});
      for (const auto& [lane, staleness] : update.contributions) append(one, {number(lane), number(staleness)});
      updates.push_back(std::move(one));
    }
    json["spans"] = std::move(spans);
    if (!stretch_.backward.empty()) {
      ChartJson backward = ChartJson::array();
      for (const TimelineStretch::Pass& pass : stretch_.backward) append(backward, {number(pass.lane), at(pass.start), at(pass.end)});
      json["backward"] = std::move(backward);
    }
    json["served"] = std::move(served);
    json["messages"] = std::move(messages);
    json["collectives"] = std::move(collectives);
    json["updates"] = std::move(updates);
    json["links"] = links();
    return json;
  }

  /// For each worker, the percentage of its time in each phase, over equal parts of the run.
  ChartJson overview() const {
    ChartJson json = head();
    const double width = static_cast<double>((end_ - stretch_.from).ticks()) / StretchSink::bin_count;
    ChartJson bins = ChartJson::array();
    for (const std::vector<double>& lane : sink_.bins()) {
      ChartJson row = ChartJson::array();
      for (const double ticks : lane) row.push_back(static_cast<std::int64_t>(std::lround(100 * std::max(0.0, ticks) / width)));
      bins.push_back(std::move(row));
    }
    json["bins"] = std::move(bins);
    json["links"] = links();
    return json;
  }

 private:
  static std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }
  static void append(ChartJson& list, std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) list.push_back(value);
  }
  std::int64_t at(Time time) const {
    return std::llround(static_cast<double>((time - stretch_.from).ticks()) / static_cast<double>((end_ - stretch_.from).ticks()) * parts);
  }

  ChartJson message(const MessageTrace& each) const {
    return ChartJson::array({lane_of_.at(each.from), lane_of_.at(each.to), each.what, at(each.sent), at(each.left), at(each.arrived),
                             each.bytes, each.version ? number(*each.version) : std::int64_t{-1}, each.lost ? 1 : 0});
  }

  /// [lane, times, shares of the link's capacity used since the time before].
  ChartJson links() const {
    ChartJson all = ChartJson::array();
    const std::vector<Time>& times = stretch_.links.times();
    const std::size_t stride = times.size() / most_link_points + 1;
    std::size_t column = 0;
    for (std::size_t lane = 0; lane < sink_.lanes().size(); ++lane) {
      const TimelineLane& link = sink_.lanes()[lane];
      if (link.kind != LaneKind::link) continue;
      ChartJson points = ChartJson::array();
      for (std::size_t i = stride; i < times.size() && times[i] <= end_; i += stride) {
        const double seconds = (times[i] - times[i - stride]).seconds();
        const double bytes = stretch_.links.bytes()[i][column] - stretch_.links.bytes()[i - stride][column];
        points.push_back(at(times[i - stride]));
        points.push_back(at(times[i]));
        points.push_back(std::lround(1000 * bytes / (seconds * link.bytes_per_second)));
      }
      ++column;
      all.push_back(ChartJson::array({lane, std::move(points)}));
    }
    return all;
  }

  const StretchSink& sink_;
  const TimelineStretch& stretch_;
  Time end_;
  std::map<Rank, std::size_t> lane_of_;
};

}  // namespace

std::string timeline_data(const StretchSink& sink, const std::string& label, bool exact) {
  static constexpr const char* kinds[] = {"worker", "server", "collective", "link"};
  ChartJson json = {{"kind", "timeline"}, {"label", label}};
  for (const TimelineLane& lane : sink.lanes())
    json["lanes"].push_back({{"name", lane.name}, {"kind", kinds[static_cast<std::size_t>(lane.kind)]}});
  json["stretches"] = json["views"] = ChartJson::array();  // views: parts of the whole run
  for (std::size_t i = 0; i < sink.stretches().size(); ++i) {
    const TimelineStretch& stretch = sink.stretches()[i];
    if (stretch.to <= stretch.from) continue;
    const StretchJson one(sink, stretch, i == 0 && !exact ? sink.end() : stretch.to);
    if (stretch.name == "typical") json["opens"] = json["stretches"].size() + json["views"].size();
    if (exact && i > 0)
      json["views"].push_back(one.head());
    else
      json["stretches"].push_back(i == 0 && !exact ? one.overview() : one.json());
  }
  return chart_text(json);
}

}  // namespace straggler
