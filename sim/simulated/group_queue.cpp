#include "sim/simulated/group_queue.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

GroupQueue::GroupQueue(const SimulatedRun& run, PostOffice& post_office, RankGroup among, bool reduces_all)
    : TogetherQueue(run, post_office, std::move(among)), reduces_all_(reduces_all) {
  if (!run.workers.change()) return;
  waiting_.resize(joining_.size());
  for (std::size_t place = 0; place < joining_.size(); ++place) new_.push_back(run.workers.present_life(rank_at(place)).life > 0);
}

bool GroupQueue::is_new(std::size_t place) const {
  if (new_.empty()) return false;
  return reduces_all_ ? !run_.workers.in_step(rank_at(place)) : static_cast<bool>(new_[place]);
}

bool GroupQueue::join(Operation& operation, std::size_t pieces) {
  if (joining_.size() == 1 || new_.empty() || known_slot(operation)) return TogetherQueue::join(operation, pieces);
  take_in_first_if_alone();
  const std::size_t place = place_of(operation.node().self());
  if (is_new(place)) {
    if (pieces < pieces_.count(operation)) return false;
    if (reduces_all_) return true;
    if (waiting_[place].operation) return true;  // one at a time: those behind it are of this worker alone
    waiting_[place] = {&operation, pieces};
    return false;
  }
  if (new_[place]) take_in(place);  // it takes no part in collectives that began while it was away
  return TogetherQueue::join(operation, pieces);
}

void GroupQueue::cancel(Operation& operation) noexcept {
  if (!waiting_.empty()) {
    Slot& slot = waiting_[place_of(operation.node().self())];
    if (slot.operation == &operation) slot = Slot();
  }
  TogetherQueue::cancel(operation);
}

/// Takes in the newcomers that wait for a collective of its kind.
void GroupQueue::about_to_begin() {
  if (waiting_.empty()) return;
  const auto first = std::ranges::find_if(joining_, [](const Slot& slot) { return slot.operation != nullptr; });
  const CollectiveKind kind = kind_of(*first->operation);
  for (std::size_t place = 0; place < waiting_.size(); ++place)
    if (waiting_[place].operation && kind_of(*waiting_[place].operation) == kind) take_in(place);
}

void GroupQueue::take_in(std::size_t place) {
  new_[place] = false;
  next_[place] = begun_;
  if (!waiting_[place].operation) return;
  joining_[place] = std::exchange(waiting_[place], Slot());
  ++next_[place];
}

/// The first newcomer that is in, if only newcomers are.
void GroupQueue::take_in_first_if_alone() {
  if (reduces_all_) return;
  for (std::size_t place = 0; place < new_.size(); ++place)
    if (awaits(place)) return;
  for (std::size_t place = 0; place < new_.size(); ++place) {
    if (!run_.workers.is_member(rank_at(place))) continue;
    take_in(place);
    return set_next_piece(next_piece_);
  }
}

std::size_t GroupQueue::awaited() const {
  if (new_.empty()) return joining_.size();
  std::size_t count = 0;
  for (std::size_t place = 0; place < joining_.size(); ++place) count += awaits(place);
  return count;
}

void GroupQueue::membership_changed(Rank worker) {
  if (joining_.size() == 1) return;
  const std::size_t place = place_of(worker);
  if (place == joining_.size() || rank_at(place) != worker) return;
  went(worker);
  take_in_first_if_alone();
  try_begin();
}

std::uint32_t GroupQueue::start(Rank worker) {
  const std::size_t place = place_of(worker);
  if (place < joining_.size() && rank_at(place) == worker) new_[place] = true;
  return 0;
}

}  // namespace straggler
