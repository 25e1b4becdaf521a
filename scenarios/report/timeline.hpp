// Activities of every worker in a stretch of a run: computing, sending, waiting, and dropped work.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/report/picture.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Keeps the spans of the first workers of a run up to a time; later events only tell which work was dropped.
class Timeline final : public RecordSink {
 public:
  Timeline(Rank workers, Time until) : until_(until), spans_(index_of(workers)), computed_(index_of(workers)) {}

  struct Span {
    Phase phase;  // wasted: it was cancelled, or its result was dropped
    Time start, end;
  };
  struct Update {
    std::uint64_t version;
    Time time;
    std::vector<Rank> workers;  // contributors among the kept workers
  };
  /// Of one worker, without gap or overlap.
  const std::vector<Span>& spans(Rank worker) const { return spans_[index_of(worker)]; }
  const std::vector<Update>& updates() const { return updates_; }
  Rank workers() const { return static_cast<Rank>(spans_.size()); }
  Time until() const { return until_; }

 private:
  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) override;
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override;
  void wasted(Rank worker, Time spent) override;

  Time until_;
  std::vector<std::vector<Span>> spans_;            // [workers]
  std::vector<std::vector<std::size_t>> computed_;  // [workers], which of those may still turn out to be dropped
  std::vector<Update> updates_;
};

/// One row per worker, named by `names`, from time 0 on; a line at every update with a mark at each worker whose work is in it.
SvgPicture draw(const Timeline& timeline, const std::vector<std::string>& names, const std::string& label);

}  // namespace straggler
