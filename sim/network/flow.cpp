#include "sim/network/flow.hpp"

#include <sys/mman.h>

namespace straggler::fluid {

namespace {
constexpr std::size_t large = 1u << 16, few = 1u << 10;  // places
}

void FlowTable::make_place() {
  FlowIndex i = static_cast<FlowIndex>(flows_.size());
  if (!given_back_.empty()) {
    i = given_back_.back();
    given_back_.pop_back();
  } else {
    if (flows_.size() >= none) throw std::length_error("more than 2^32 flows are under way");
    if (flows_.size() == flows_.capacity()) grow();
    flows_.emplace_back();
    owners_.emplace_back();
  }
  if (flows_[i].generation == 0) {
    flows_[i].generation = first_generation_;
    flows_[i].stamp = first_stamp_;
  }
  flows_[i].vacant = none;
  vacant_ = i;
}

/// Large tables in longer strides: a copy takes new pages, and room that was never used takes none.
void FlowTable::grow() {
  const std::size_t places = std::max<std::size_t>(16, (flows_.size() < large ? 2 : 4) * flows_.size());
  flows_.reserve(places);
  owners_.reserve(places);
  if (flows_.size() < large) return;
  given_back_.reserve(places);
  give_back_below_ = few;
  give_back_in_ = large;
}

/// After a burst of a million messages few are under way. It waits until most rosters were cleaned, which reads the places. Tags and
/// entries that still name one whose memory has gone back are stale: its generation and stamp read as 0, which no name has.
void FlowTable::give_back() noexcept {
  give_back_below_ = 0;
  const auto before = static_cast<std::ptrdiff_t>(given_back_.size());
  for (; vacant_ != none; vacant_ = flows_[vacant_].vacant) given_back_.push_back(vacant_);  // there is room for all
  std::reverse(given_back_.begin() + before, given_back_.end());
  constexpr std::size_t span = huge_page / sizeof(Flow);
  for (std::size_t first = 0; first + span <= flows_.size(); first += span) {
    const std::span<Flow> places(flows_.data() + first, span);
    if (std::any_of(places.begin(), places.end(), [](const Flow& flow) { return flow.state != FlowState::vacant; })) continue;
    for (const Flow& flow : places) {
      first_generation_ = std::max(first_generation_, flow.generation);
      first_stamp_ = std::max(first_stamp_, flow.stamp);
    }
    ::madvise(places.data(), places.size_bytes(), MADV_DONTNEED);
  }
}

}  // namespace straggler::fluid
