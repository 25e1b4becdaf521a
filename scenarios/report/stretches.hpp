// Events of chosen stretches of a run, lane by lane: the data of a page's zoomable timeline.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scenarios/results/link_samples.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// A row of the timeline.
struct TimelineLane {
  enum class Kind : std::uint8_t { worker, server, collective, link };
  Kind kind = Kind::worker;
  std::string name;
  Rank rank = 0;                // of a worker or server
  std::size_t link = 0;         // number of a link
  double bytes_per_second = 0;  // of a link
};

struct TimelineStretch {
  std::string name;  // "first", "worst"
  Time from, to;
  bool whole = false;  // of the run: link loads are kept to its end, other events are not
  bool full = false;   // it ends early: the limit of events is reached

  struct Span {
    std::size_t lane;
    Phase phase;
    Time start, end;
  };
  struct Pass {
    std::size_t lane;
    Time start, end;
  };
  struct Served {
    std::size_t lane;
    const char* what;
    Time start, end;
  };
  struct Update {
    std::uint64_t version;
    Time time;
    std::vector<std::pair<std::size_t, std::uint64_t>> contributions;  // (lane, staleness)
  };
  std::vector<Span> spans;
  std::vector<Pass> backward;  // within computations, where gradients leave in parts
  std::vector<Served> served;
  std::vector<MessageTrace> messages;  // between lanes
  std::vector<CollectiveTrace> collectives;
  std::vector<Update> updates;
  LinkSamples links;
  std::size_t events = 0;  // in these lists
};

/// Keeps stretches of a run, at most `most` events of each. For the whole run it keeps each worker's share of time in each phase, for each
/// of `bin_count` equal parts.
class StretchSink final : public RecordSink {
 public:
  static constexpr std::size_t bin_count = 120;
  /// `stretches`: names, `from` and `to`; they may overlap. `end`: of the run.
  StretchSink(std::vector<TimelineLane> lanes, std::vector<std::pair<TimelineStretch, std::size_t>> stretches, Time end);

  /// The run was cut there: no stretch continues.
  void cut(Time at);
  /// After the run: spans are clipped to their stretch, which ends where it was full; lanes of servers and collectives without an event go.
  void finish();
  const std::vector<TimelineLane>& lanes() const { return lanes_; }
  const std::vector<TimelineStretch>& stretches() const { return stretches_; }
  Time end() const { return end_; }
  /// [lanes][bin_count][phase_count], in ticks; 0 for lanes of no worker.
  const std::vector<std::vector<double>>& bins() const { return bins_; }

 private:
  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t first_position,
                    std::uint32_t steps, std::uint64_t samples) override;
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override;
  void backward_pass(Rank worker, Time from, Time to) override;
  void wasted(Rank worker, Time spent) override;
  void message(const MessageTrace& message) override;
  void collective(const CollectiveTrace& collective) override;
  void served(Rank rank, const char* what, Time start, Time end) override;
  void links(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) override;

  /// A computation that may still turn out to be for nothing, and where it is kept.
  struct Computed {
    Time start, end;
    std::vector<std::pair<std::size_t, std::size_t>> kept;  // (stretch, span)
  };
  /// Calls `add(stretch)` for each stretch that [start, end] reaches into and that has room.
  template <class Add>
  void in_stretches(Time start, Time end, const Add& add);
  void book(std::size_t lane, Phase phase, Time start, Time end, double sign);
  std::size_t lane_of(Rank rank) const;
  void drop_empty_lanes();
  static void drop_wasted_passes(TimelineStretch& stretch);

  std::vector<TimelineLane> lanes_;
  std::vector<TimelineStretch> stretches_;
  std::vector<std::size_t> most_;  // [stretches_]
  Time end_;
  std::unordered_map<Rank, std::size_t> lane_of_;
  std::vector<std::vector<double>> bins_;
  std::vector<std::deque<Computed>> computed_;  // [lanes], the latest
};

/// The data of the timeline for the script of pages. `exact`: the stretch that is the whole run, if all of it is kept; else its bins are
/// given. `label`: its description.
std::string timeline_data(const StretchSink& sink, const std::string& label, bool exact);

}  // namespace straggler
