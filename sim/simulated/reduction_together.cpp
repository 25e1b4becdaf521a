#include "sim/simulated/reduction_together.hpp"

#include <algorithm>
#include <tuple>

namespace straggler {

ReductionTogether::ReductionTogether(World& world, Books& books, Workers& workers, PostOffice& post_office)
    : Reduction(world, books, workers, post_office), joining_(count()), running_(count()) {
  if (world.cluster.stepwise)
    stepwise_ = std::make_unique<StepwiseRun>(world.simulation, world.network, world.transport,
                                              [this](CollectiveRank rank) { finish(rank); });
}

bool ReductionTogether::join(Operation& operation, Payload& payload, std::size_t pieces) {
  if (joining_.size() == 1) return pieces == pieces_of(payload);
  Slot& slot = joining_[static_cast<std::size_t>(operation.node().self())];
  if (slot.pieces <= next_piece_ && pieces > next_piece_) ++ready_;
  slot = {&operation, &payload, pieces};
  pieces_ = pieces_of(payload);
  try_begin();
  return false;
}

void ReductionTogether::cancel(Operation& operation) noexcept {
  const auto rank = static_cast<std::size_t>(operation.node().self());
  if (joining_[rank].operation == &operation) {
    if (joining_[rank].pieces > next_piece_) --ready_;
    joining_[rank] = Slot();
  }
  if (running_[rank].operation == &operation) running_[rank] = Slot();
}

void ReductionTogether::set_next_piece(std::size_t piece) {
  next_piece_ = piece;
  ready_ =
      static_cast<std::size_t>(std::count_if(joining_.begin(), joining_.end(), [piece](const Slot& slot) { return slot.pieces > piece; }));
}

/// The next piece, if everybody has it.
void ReductionTogether::try_begin() {
  if (busy_ || ready_ == 0) return;
  if (ready_ < static_cast<std::size_t>(workers_.members())) return;
  members_.clear();
  for (std::size_t rank = 0; rank < joining_.size(); ++rank) {
    if (joining_[rank].pieces > next_piece_)
      members_.push_back(static_cast<Rank>(rank));
    else if (next_piece_ == 0 ? workers_.awaits(static_cast<Rank>(rank)) : workers_.is_member(static_cast<Rank>(rank)))
      return;  // one that comes later starts after this update: it has no part in its first piece
  }
  const Payload& first = *joining_[static_cast<std::size_t>(members_.front())].payload;
  begin(bytes_of_piece(first, next_piece_), next_piece_ + 1 == pieces_);
}

void ReductionTogether::average() {
  std::vector<const Payload*> parts;
  parts.reserve(members_.size());
  for (const Rank rank : members_) parts.push_back(running_[static_cast<std::size_t>(rank)].payload);
  std::tie(result_, result_of_others_) = mean_of(parts);
}

void ReductionTogether::begin(std::uint64_t bytes, bool last) {
  busy_ = true;
  last_ = last;
  unfinished_ = members_.size();
  finished_.assign(members_.size(), false);
  if (last) {
    std::swap(joining_, running_);
    std::fill(joining_.begin(), joining_.end(), Slot());
    average();
    set_next_piece(0);
    ++updates_;
  } else {
    set_next_piece(next_piece_ + 1);
  }
  if (members_.size() == 1) {
    plan_ = nullptr;
    return world_.queue().after(Time(), *this);
  }
  plan_ = &plan_for(bytes);
  for (std::size_t member = 0; member < members_.size(); ++member) {
    books_.sent(members_[member], plan_->sent[member]);
    books_.begin_flight(members_[member]);
  }
  std::uint64_t workers_sent = 0;
  for (const std::uint64_t sent : plan_->sent) workers_sent += sent;
  books_.recorder().bytes().sent += plan_->all - workers_sent;  // by servers
  if (last && world_.cluster.statistics_bytes > 0) books_.recorder().bytes().statistics += plan_->all;
  under_way_ += plan_->all;
  if (stepwise_)
    stepwise_->start(*plan_->schedule, costs_, plan_->ranks);
  else
    flow_ = world_.network.start(plan_->fluid.flow(), *this);
}

ReductionTogether::Plan& ReductionTogether::plan_for(std::uint64_t bytes) {
  std::vector<std::uint32_t> ranks = ranks_of(members_);
  for (const auto& plan : plans_)
    if (plan->bytes == bytes && plan->ranks == ranks) return *plan;

  auto plan = std::make_unique<Plan>();
  plan->bytes = bytes;
  plan->ranks = std::move(ranks);
  plan->schedule = make_schedule(bytes, members_);
  if (!stepwise_) plan->fluid = fluid_plan(*plan->schedule, costs_, world_.transport, plan->ranks);
  for (std::size_t rank = 0; rank < plan->schedule->ranks(); ++rank) {
    const std::uint64_t sent = plan->schedule->bytes_sent(static_cast<CollectiveRank>(rank));
    plan->all += sent;
    if (rank >= members_.size()) continue;
    plan->sent.push_back(sent);
    plan->received.push_back(plan->schedule->bytes_received(static_cast<CollectiveRank>(rank)));
  }
  plans_.push_back(std::move(plan));
  return *plans_.back();
}

void ReductionTogether::arrived() {
  if (plan_->fluid.arithmetic > Time())
    world_.queue().after(plan_->fluid.arithmetic, *this);
  else
    finish_all();
}

void ReductionTogether::happen() { finish_all(); }

void ReductionTogether::finish_all() {
  for (std::size_t member = 0; member < members_.size(); ++member) finish(member);
}

/// `member`: its number in `members_`; servers come after them.
void ReductionTogether::finish(std::size_t member) {
  if (member >= members_.size()) return;
  const Rank rank = members_[member];
  finished_[member] = true;
  if (plan_) {
    books_.received(rank, plan_->received[member]);
    under_way_ -= plan_->received[member];
    books_.end_flight(rank);
  }
  if (last_) {
    const Slot slot = std::exchange(running_[static_cast<std::size_t>(rank)], Slot());
    if (slot.operation) {
      *slot.payload = member == 0 ? result_ : result_of_others_;
      slot.operation->complete();
    }
  }
  if (--unfinished_ == 0) piece_done();
}

void ReductionTogether::piece_done() {
  if (plan_) {
    std::uint64_t workers_received = 0;
    for (const std::uint64_t received : plan_->received) workers_received += received;
    books_.recorder().bytes().received += plan_->all - workers_received;  // by servers
    under_way_ -= plan_->all - workers_received;
  }
  busy_ = false;
  if (last_ && run_ends_) world_.simulation.stop();
  if (last_) {
    result_ = Payload();
    result_of_others_ = Payload();
  }
  try_begin();
}

void ReductionTogether::membership_changed(Rank worker) {
  if (joining_.size() == 1) return;
  if (std::find(members_.begin(), members_.end(), worker) != members_.end()) {
    if (busy_)
      break_off();
    else
      set_next_piece(0);  // of this update's pieces, those that are through hold what it contributed
  }
  if (workers_.members() == 0) updates_ = books_.recorder().latest()->version;  // nobody is left who has the result
  try_begin();
}

void ReductionTogether::break_off() {
  world_.network.cancel(flow_);
  Event::cancel();
  if (stepwise_) stepwise_->stop();
  if (plan_) {
    for (std::size_t member = 0; member < members_.size(); ++member)
      if (!finished_[member]) books_.end_flight(members_[member]);
    books_.recorder().bytes().lost += std::exchange(under_way_, 0);
  }
  const bool some_have_it = unfinished_ < members_.size();
  busy_ = false;
  if (last_ && !some_have_it) --updates_;
  for (const Rank rank : members_) {
    if (!last_) break;
    const Slot slot = std::exchange(running_[static_cast<std::size_t>(rank)], Slot());
    if (!slot.operation) continue;
    if (some_have_it) {
      *slot.payload = result_of_others_;
      slot.operation->complete();
    } else {
      joining_[static_cast<std::size_t>(rank)] = slot;
    }
  }
  last_ = false;
  set_next_piece(0);
}

void ReductionTogether::describe_waiting(std::vector<std::string>& who) const {
  std::vector<bool> waiting;
  for (const Slot& slot : joining_) waiting.push_back(slot.operation != nullptr);
  Reduction::describe_waiting(waiting, who);
}

}  // namespace straggler
