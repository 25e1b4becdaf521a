#include "sim/simulated/reduction_together.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/collectives/all_gather.hpp"

namespace straggler {

ReductionTogether::ReductionTogether(const SimulatedRun& run, PostOffice& post_office, RankGroup among)
    : Reduction(run, post_office), among_(std::move(among)) {
  World& world = run.world;
  const std::size_t places = among_ ? among_->size() : index_of(world.workers);
  joining_.resize(places);
  running_.resize(places);
  next_.resize(places);
  if (world.cluster.collective.stepwise)
    stepwise_ =
        std::make_unique<StepwiseRun>(world.simulation, world.network, world.transport, [this](CollectiveRank rank) { finish(rank); });
}

std::size_t ReductionTogether::place_of(Rank worker) const {
  if (!among_) return index_of(worker);
  return static_cast<std::size_t>(std::ranges::lower_bound(*among_, worker) - among_->begin());
}

bool ReductionTogether::join(Operation& operation, Payload& payload, std::size_t pieces) {
  if (joining_.size() == 1) return pieces == pieces_of(operation, payload);
  const auto rank = place_of(operation.node().self());
  any_gathered_ = any_gathered_ || gathers(operation);
  Slot* slot = known_slot(operation);
  if (!slot) {
    if (next_[rank] < begun_) return join_late(operation, payload, pieces);
    const std::size_t behind = next_[rank]++ - begun_;
    while (later_.size() < behind) later_.emplace_back(joining_.size());
    slot = behind == 0 ? &joining_[rank] : &later_[behind - 1][rank];
  }
  if (slot == &joining_[rank] && slot->pieces <= next_piece_ && pieces > next_piece_) ++ready_;
  *slot = {&operation, &payload, pieces};
  latest_ = operation.node().self();
  try_begin();
  latest_.reset();
  return false;
}

ReductionTogether::Slot* ReductionTogether::known_slot(const Operation& operation) {
  const auto rank = place_of(operation.node().self());
  if (joining_[rank].operation == &operation) return &joining_[rank];
  for (Slots& slots : later_)
    if (slots[rank].operation == &operation) return &slots[rank];
  return nullptr;
}

/// Joins a collective that has begun without this worker, and needs no pieces from it.
bool ReductionTogether::join_late(Operation& operation, Payload& payload, std::size_t pieces) {
  if (pieces < pieces_of(operation, payload)) return false;
  const auto rank = place_of(operation.node().self());
  const std::uint32_t number = next_[rank]++;
  if (number == completed()) {
    running_[rank] = {&operation, &payload, pieces};
    return false;
  }
  Slot late = {&operation, &payload, pieces};
  put_result(late, kept_results_.at(kept_results_.size() - (completed() - number)));
  forget_results();
  return true;
}

void ReductionTogether::cancel(Operation& operation) noexcept {
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

void ReductionTogether::set_next_piece(std::size_t piece) {
  next_piece_ = piece;
  ready_ =
      static_cast<std::size_t>(std::count_if(joining_.begin(), joining_.end(), [piece](const Slot& slot) { return slot.pieces > piece; }));
  ahead_ = 0;
  if (!run_.workers.change()) return;
  for (std::size_t rank = 0; rank < joining_.size(); ++rank)
    if (ahead(rank)) ++ahead_;
}

/// The next piece, if everybody has it.
void ReductionTogether::try_begin() {
  if (busy_ || over_ || !gather_members()) return;
  begin(joining_[place_of(members_.front())], next_piece_);
}

/// The participants of the next piece; false: some are still to come. The participants of an all-reduce's first piece are in all pieces.
bool ReductionTogether::gather_members() {
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

void ReductionTogether::make_results() {
  std::vector<const Payload*> parts;
  parts.reserve(members_.size());
  for (const Rank rank : members_) parts.push_back(running_[place_of(rank)].payload);
  if (gathers(*running_[place_of(members_.front())].operation))
    result_.parts = result_of_others_.parts = gathered(parts);
  else
    std::tie(result_.mean, result_of_others_.mean) = mean_of(parts);
}

/// Of an all-gather; none: it is an all-reduce. Throws UnsupportedOperation where it is one for some and the other for others.
std::vector<std::uint64_t> ReductionTogether::blocks_of(std::size_t piece) const {
  const bool gather = gathers(*joining_[place_of(members_.front())].operation);
  std::vector<std::uint64_t> blocks;
  if (!any_gathered_) return blocks;
  for (const Rank rank : members_) {
    const Slot& slot = joining_[place_of(rank)];
    if (gathers(*slot.operation) != gather)
      throw UnsupportedOperation("worker " + std::to_string(members_.front()) + (gather ? " all-gathers" : " all-reduces") +
                                 " where worker " + std::to_string(rank) + (gather ? " all-reduces" : " all-gathers") +
                                 "; collectives follow one another in one order on all their workers");
    if (gather) blocks.push_back(bytes_of_piece(*slot.operation, *slot.payload, piece));
  }
  return blocks;
}

void ReductionTogether::begin(const Slot& first, std::size_t piece) {
  const std::uint64_t bytes = bytes_of_piece(*first.operation, *first.payload, piece);
  const bool last = piece + 1 == pieces_of(*first.operation, *first.payload);
  const bool statistics = last && wire_bytes_.statistics_of(*first.payload) > 0;
  if (run_.books.trace())
    traced_ = {gathers(*first.operation) ? "all-gather" : "all-reduce",
               piece,
               pieces_of(*first.operation, *first.payload),
               members_.size(),
               bytes,
               run_.world.now(),
               Time(),
               latest_};
  const double spared = spared_per_byte(*first.operation, *first.payload, piece, members_.size());
  coded_share_ = coded_share(*first.operation, *first.payload, piece);
  std::vector<std::uint64_t> blocks = blocks_of(piece);
  busy_ = true;
  last_ = last;
  unfinished_ = members_.size();
  finished_.assign(members_.size(), false);
  if (last) {
    std::swap(joining_, running_);
    if (later_.empty()) {
      std::fill(joining_.begin(), joining_.end(), Slot());
    } else {
      joining_ = std::move(later_.front());
      later_.pop_front();
    }
    make_results();
    if (!among_ && run_.workers.change())
      for (const Rank rank : members_) run_.workers.comes_in_step(rank);
    ++begun_;
    set_next_piece(0);
  } else {
    set_next_piece(next_piece_ + 1);
  }
  if (members_.size() == 1) {
    plan_ = nullptr;
    return run_.world.queue().after(Time(), *this);
  }
  plan_ = &plan_for(bytes, std::move(blocks));
  run_.books.collective_sent(members_, plan_->sent, plan_->sent_by_servers);
  if (statistics) run_.books.statistics(plan_->all);
  run_.books.spared(spared * static_cast<double>(plan_->all));
  under_way_ += plan_->all;
  if (stepwise_)
    stepwise_->start(*plan_->schedule, costs_, plan_->ranks);
  else
    flow_ = run_.world.network.start(plan_->fluid.flow(), *this);
}

ReductionTogether::Plan& ReductionTogether::plan_for(std::uint64_t bytes, std::vector<std::uint64_t> blocks) {
  std::vector<std::uint32_t> ranks = ranks_of(members_);
  for (const auto& plan : plans_)
    if (plan->bytes == bytes && plan->ranks == ranks && plan->blocks == blocks) return *plan;

  auto plan = std::make_unique<Plan>();
  plan->bytes = bytes;
  plan->ranks = std::move(ranks);
  plan->blocks = std::move(blocks);
  plan->schedule = plan->blocks.empty() ? make_schedule(bytes, members_) : all_gather_ring(plan->blocks);
  if (!stepwise_) plan->fluid = fluid_plan(*plan->schedule, costs_, run_.world.transport, plan->ranks);
  for (std::size_t rank = 0; rank < plan->schedule->ranks(); ++rank) {
    const std::uint64_t sent = plan->schedule->bytes_sent(static_cast<CollectiveRank>(rank));
    const std::uint64_t received = plan->schedule->bytes_received(static_cast<CollectiveRank>(rank));
    plan->all += sent;
    if (rank >= members_.size()) {
      plan->sent_by_servers += sent;
      plan->to_servers += received;
      continue;
    }
    plan->sent.push_back(sent);
    plan->received.push_back(received);
  }
  plans_.push_back(std::move(plan));
  return *plans_.back();
}

void ReductionTogether::arrived() {
  if (plan_->fluid.arithmetic > Time())
    run_.world.queue().after(plan_->fluid.arithmetic, *this);
  else
    finish_all();
}

void ReductionTogether::happen() { finish_all(); }

/// With the last one the next may begin, of more members.
void ReductionTogether::finish_all() {
  for (std::size_t left = members_.size(), member = 0; left > 0; --left, ++member) finish(member);
}

/// `member`: its number in `members_`; servers come after them.
void ReductionTogether::finish(std::size_t member) {
  if (member >= members_.size()) return;
  const Rank rank = members_[member];
  finished_[member] = true;
  if (plan_) {
    run_.books.received(rank, plan_->received[member]);
    under_way_ -= plan_->received[member];
    run_.books.end_flight(rank);
  }
  if (last_)
    give_result(running_[place_of(rank)], member == 0 ? result_ : result_of_others_);
  else if (const Operation* const operation = joining_[place_of(rank)].operation)
    decode(*operation, decoding(*operation, coded_share_, members_.size()));
  if (--unfinished_ == 0) piece_done();
}

void ReductionTogether::piece_done() {
  if (run_.books.trace() && plan_) {
    traced_.end = run_.world.now();
    run_.books.trace()->collective(traced_);
  }
  if (plan_) {
    run_.books.received_by_servers(plan_->to_servers);
    under_way_ -= plan_->to_servers;
  }
  if (last_) {
    done_by_all();
    keep_result();
    result_ = Result();
    result_of_others_ = Result();
  }
  busy_ = false;
  try_begin();
}

void ReductionTogether::put_result(const Slot& slot, const Result& result) {
  if (!result.parts) *slot.payload = result.mean;
  if (gathers(*slot.operation)) static_cast<AllGatherOperationBase&>(*slot.operation).gathered = result.parts;
}

void ReductionTogether::give_result(Slot& slot, const Result& result) {
  const Slot waiting = std::exchange(slot, Slot());
  if (!waiting.operation) return;
  const Time decoding = this->decoding(*waiting.operation, coded_share_, members_.size());
  put_result(waiting, result);
  hand_over(*waiting.operation, decoding);
}

/// The result of the completed collective, for workers that joined while it was in progress and for those that will join it later.
void ReductionTogether::keep_result() {
  if (!run_.workers.change()) return;
  for (Slot& late : running_) give_result(late, result_of_others_);
  kept_results_.push_back(result_of_others_);
}

/// Results of collectives that no worker will join any more.
void ReductionTogether::forget_results() {
  while (!kept_results_.empty()) {
    const auto first = completed() - static_cast<std::uint32_t>(kept_results_.size());
    if (first >= in_latest_) return;
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
      if (next_[rank] <= first && run_.workers.is_member(rank_at(rank))) return;
    kept_results_.pop_front();
  }
}

void ReductionTogether::published(std::uint32_t reductions) {
  in_latest_ = reductions;
  forget_results();
}

bool ReductionTogether::may_start() const {
  if (joining_.size() == 1) return true;
  if (next_piece_ > 0) return false;
  return begun_ == in_latest_ || (!busy_ && ready_ > 0 && ready_ == static_cast<std::size_t>(run_.workers.members()));
}

std::uint32_t ReductionTogether::start(Rank worker) {
  if (joining_.size() == 1) return 0;
  if (next_piece_ > 0) {  // it may have a part in this one, which begins again
    if (busy_) break_off();
    set_next_piece(0);
  }
  return next_[place_of(worker)] = in_latest_;
}

void ReductionTogether::membership_changed(Rank worker) {
  if (joining_.size() == 1) return;
  went(worker);
  if (run_.workers.members() == 0) {  // no worker is left that has the results
    begun_ = in_latest_;
    kept_results_.clear();
    later_.clear();
  }
  try_begin();
}

void ReductionTogether::went(Rank worker) {
  if (std::find(members_.begin(), members_.end(), worker) != members_.end()) {
    if (busy_)
      break_off();
    else
      set_next_piece(0);  // of this update's pieces, the completed ones hold its contribution
  } else {
    set_next_piece(next_piece_);  // it is no member that is ahead any more
  }
}

void ReductionTogether::break_off() {
  run_.world.network.cancel(flow_);
  Event::cancel();
  if (stepwise_) stepwise_->stop();
  if (plan_) {
    for (std::size_t member = 0; member < members_.size(); ++member)
      if (!finished_[member]) run_.books.end_flight(members_[member]);
    run_.books.lost(std::exchange(under_way_, 0));
  }
  busy_ = false;
  if (std::exchange(last_, false)) {
    if (unfinished_ < members_.size()) {  // some have it
      for (const Rank rank : members_) give_result(running_[place_of(rank)], result_of_others_);
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

void ReductionTogether::describe_waiting(std::vector<std::string>& who) const {
  std::vector<bool> waiting;
  for (const Slot& slot : joining_) waiting.push_back(slot.operation != nullptr);
  Reduction::describe_waiting(waiting, among_, who);
}

}  // namespace straggler
