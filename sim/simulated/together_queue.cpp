#include "sim/simulated/together_queue.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

namespace {
constexpr std::size_t other_member = 1;  // any but the first
}

TogetherQueue::TogetherQueue(const SimulatedRun& run, PostOffice& post_office, RankGroup among)
    : CollectiveQueue(run, post_office),
      among_(std::move(among)),
      joining_(among_ ? among_->size() : index_of(run.world.workers)),
      running_(joining_.size()),
      next_(joining_.size()),
      move_(make_collective_move(run.world, run.books, plans_.costs(), [this](std::size_t member) { finished(member); })) {}

std::size_t TogetherQueue::place_of(Rank worker) const {
  if (!among_) return index_of(worker);
  return static_cast<std::size_t>(std::ranges::lower_bound(*among_, worker) - among_->begin());
}

bool TogetherQueue::join(Operation& operation, std::size_t pieces) {
  if (joining_.size() == 1) return pieces == pieces_.count(operation);
  const auto rank = place_of(operation.node().self());
  several_kinds_ = several_kinds_ || kind_of(operation) != CollectiveKind::all_reduce;
  Slot* slot = known_slot(operation);
  if (!slot) {
    if (next_[rank] < begun_) return join_late(operation, pieces);
    const std::size_t behind = next_[rank]++ - begun_;
    while (later_.size() < behind) later_.emplace_back(joining_.size());
    slot = behind == 0 ? &joining_[rank] : &later_[behind - 1][rank];
  }
  if (slot == &joining_[rank] && slot->pieces <= next_piece_ && pieces > next_piece_) ++ready_;
  *slot = {&operation, pieces};
  latest_ = operation.node().self();
  try_begin();
  latest_.reset();
  return false;
}

TogetherQueue::Slot* TogetherQueue::known_slot(const Operation& operation) {
  const auto rank = place_of(operation.node().self());
  if (joining_[rank].operation == &operation) return &joining_[rank];
  for (Slots& slots : later_)
    if (slots[rank].operation == &operation) return &slots[rank];
  return nullptr;
}

/// Joins a collective that has begun without this worker, and needs no pieces from it.
bool TogetherQueue::join_late(Operation& operation, std::size_t pieces) {
  if (pieces < pieces_.count(operation)) return false;
  const auto rank = place_of(operation.node().self());
  const std::uint32_t number = next_[rank]++;
  if (number == completed()) {
    running_[rank] = {&operation, pieces};
    return false;
  }
  put(kept_results_.at(kept_results_.size() - (completed() - number)), other_member, operation);
  forget_results();
  return true;
}

void TogetherQueue::cancel(Operation& operation) noexcept {
  const auto rank = place_of(operation.node().self());
  if (running_[rank].operation == &operation) running_[rank] = Slot();
  const auto at = [&](std::size_t behind) -> Slot& { return behind == 0 ? joining_[rank] : later_[behind - 1][rank]; };
  std::size_t behind = 0;
  while (behind <= later_.size() && at(behind).operation != &operation) ++behind;
  if (behind > later_.size()) return;
  if (joining_[rank].pieces > next_piece_) --ready_;
  for (; behind < later_.size(); ++behind) at(behind) = at(behind + 1);
  at(behind) = Slot();
  --next_[rank];
  if (joining_[rank].pieces > next_piece_) ++ready_;
}

void TogetherQueue::set_next_piece(std::size_t piece) {
  next_piece_ = piece;
  ready_ =
      static_cast<std::size_t>(std::count_if(joining_.begin(), joining_.end(), [piece](const Slot& slot) { return slot.pieces > piece; }));
  ahead_ = 0;
  if (!run_.workers.change()) return;
  for (std::size_t rank = 0; rank < joining_.size(); ++rank)
    if (ahead(rank)) ++ahead_;
}

/// The next piece, if everybody has it.
void TogetherQueue::try_begin() {
  if (!busy_ && !over_ && gather_members()) begin();
}

/// The participants of the next piece; false: some are still to come. The participants of a collective's first piece are in all pieces.
bool TogetherQueue::gather_members() {
  if (next_piece_ > 0) {
    return ready_ >= members_.size() &&
           std::all_of(members_.begin(), members_.end(), [this](Rank rank) { return joining_[place_of(rank)].pieces > next_piece_; });
  }
  if (ready_ == 0 || ready_ + ahead_ < awaited()) return false;
  for (std::size_t place = 0; place < joining_.size(); ++place)
    if (joining_[place].pieces == 0 && !ahead(place) && awaits(place)) return false;
  about_to_begin();
  std::vector<Rank> members;
  for (std::size_t place = 0; place < joining_.size(); ++place)
    if (joining_[place].pieces > 0) members.push_back(rank_at(place));
  members_ = std::move(members);
  return true;
}

/// Throws UnsupportedOperation where a collective is of one kind for some of its members, and of another for others.
void TogetherQueue::require_one_kind() const {
  if (!several_kinds_) return;
  const CollectiveKind kind = kind_of(first_joining());
  for (const Rank rank : members_)
    if (const CollectiveKind other = kind_of(*joining_[place_of(rank)].operation); other != kind)
      throw UnsupportedOperation("worker " + std::to_string(members_.front()) + " " + name_of(kind) + "s where worker " +
                                 std::to_string(rank) + " " + name_of(other) +
                                 "s; collectives follow one another in one order on all their workers");
}

/// What each member brings to an all-gather; empty: it is none.
std::vector<std::uint64_t> TogetherQueue::blocks_of_next() const {
  std::vector<std::uint64_t> blocks;
  if (first_joining().kind() != Operation::Kind::all_gather) return blocks;  // shards are equal
  for (const Rank rank : members_) blocks.push_back(pieces_.piece(*joining_[place_of(rank)].operation, next_piece_, members_.size()).bytes);
  return blocks;
}

void TogetherQueue::begin() {
  require_one_kind();
  const CollectiveKind kind = kind_of(first_joining());
  std::vector<std::uint64_t> blocks = blocks_of_next();
  piece_ = pieces_.piece(first_joining(), next_piece_, members_.size());
  if (run_.books.trace()) {
    traced_ = traced(first_joining(), piece_, members_.size());
    traced_.waited_for = latest_;
  }
  busy_ = true;
  unfinished_ = members_.size();
  if (piece_.last)
    leave_queue();
  else
    set_next_piece(next_piece_ + 1);
  if (members_.size() == 1) return run_.world.queue().after(Time(), *this);
  move_->start(plans_.plan(kind, piece_.bytes, std::move(blocks), members_), members_, piece_);
}

/// With its last piece the collective gives its place to the next.
void TogetherQueue::leave_queue() {
  std::swap(joining_, running_);
  if (later_.empty()) {
    std::fill(joining_.begin(), joining_.end(), Slot());
  } else {
    joining_ = std::move(later_.front());
    later_.pop_front();
  }
  std::vector<const Operation*> operations;
  operations.reserve(members_.size());
  for (const Rank rank : members_) operations.push_back(running_[place_of(rank)].operation);
  result_ = result_of(operations);
  if (!among_ && run_.workers.change())
    for (const Rank rank : members_) run_.workers.comes_in_step(rank);
  ++begun_;
  set_next_piece(0);
}

void TogetherQueue::finished(std::size_t member) {
  const std::size_t place = place_of(members_[member]);
  if (piece_.last)
    give_result(running_[place], member);
  else if (const Operation* const operation = joining_[place].operation)
    decode(*operation, piece_.coded_share, members_.size());
  if (--unfinished_ == 0) piece_done();
}

void TogetherQueue::piece_done() {
  if (run_.books.trace() && members_.size() > 1) {
    traced_.end = run_.world.now();
    run_.books.trace()->collective(traced_);
  }
  if (piece_.last) {
    done_by_all();
    keep_result();
    result_ = Result();
  }
  busy_ = false;
  try_begin();
}

void TogetherQueue::give_result(Slot& slot, std::size_t member) {
  const Slot waiting = std::exchange(slot, Slot());
  if (waiting.operation) complete(result_, member, *waiting.operation, piece_.coded_share, members_.size());
}

/// The result of the completed collective, for workers that joined while it was in progress and for those that will join it later.
void TogetherQueue::keep_result() {
  if (!run_.workers.change()) return;
  for (Slot& late : running_) give_result(late, other_member);
  kept_results_.push_back(result_);
}

/// Results of collectives that no worker will join any more.
void TogetherQueue::forget_results() {
  while (!kept_results_.empty()) {
    const auto first = completed() - static_cast<std::uint32_t>(kept_results_.size());
    if (first >= in_latest_) return;
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
      if (next_[rank] <= first && run_.workers.is_member(rank_at(rank))) return;
    kept_results_.pop_front();
  }
}

void TogetherQueue::published(std::uint32_t collectives) {
  in_latest_ = collectives;
  forget_results();
}

bool TogetherQueue::may_start() const {
  if (joining_.size() == 1) return true;
  if (next_piece_ > 0) return false;
  return begun_ == in_latest_ || (!busy_ && ready_ > 0 && ready_ == static_cast<std::size_t>(run_.workers.members()));
}

std::uint32_t TogetherQueue::start(Rank worker) {
  if (joining_.size() == 1) return 0;
  if (next_piece_ > 0) {  // it may have a part in this one, which begins again
    if (busy_) break_off();
    set_next_piece(0);
  }
  return next_[place_of(worker)] = in_latest_;
}

void TogetherQueue::membership_changed(Rank worker) {
  if (joining_.size() == 1) return;
  went(worker);
  if (run_.workers.members() == 0) {  // no worker is left that has the results
    begun_ = in_latest_;
    kept_results_.clear();
    later_.clear();
  }
  try_begin();
}

void TogetherQueue::went(Rank worker) {
  if (std::find(members_.begin(), members_.end(), worker) != members_.end()) {
    if (busy_)
      break_off();
    else
      set_next_piece(0);  // of this update's pieces, the completed ones hold its contribution
  } else {
    set_next_piece(next_piece_);  // it is no member that is ahead any more
  }
}

void TogetherQueue::break_off() {
  move_->stop();
  Event::cancel();
  busy_ = false;
  if (piece_.last) {
    if (unfinished_ < members_.size()) {  // some have it
      for (const Rank rank : members_) give_result(running_[place_of(rank)], other_member);
      done_by_all();
      keep_result();
    } else {
      --begun_;
      later_.push_front(std::move(joining_));
      joining_ = std::exchange(running_, Slots(next_.size()));
    }
  }
  set_next_piece(0);
}

void TogetherQueue::stop() {
  move_->stop();
  Event::cancel();
}

void TogetherQueue::describe_waiting(std::vector<std::string>& who) const {
  std::vector<const Operation*> waiting;
  for (const Slot& slot : joining_) waiting.push_back(slot.operation);
  CollectiveQueue::describe_waiting(waiting, among_, who);
}

}  // namespace straggler
