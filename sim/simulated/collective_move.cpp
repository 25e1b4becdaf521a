#include "sim/simulated/collective_move.hpp"

#include <utility>

#include "sim/collectives/message_run.hpp"

namespace straggler {

void CollectiveMove::start(const CollectivePlan& plan, const std::vector<Rank>& members, const CollectivePiece& piece) {
  plan_ = &plan;
  members_ = members;
  done_.assign(members.size(), false);
  left_ = members.size();
  books_.collective_sent(members, plan.sent, plan.sent_by_servers);
  if (piece.statistics) books_.statistics(plan.all);
  books_.spared(piece.spared_per_byte * static_cast<double>(plan.all));
  under_way_ += plan.all;
  if (plan.sent_by_servers > 0) books_.servers_reduce(true);
  begin();
}

void CollectiveMove::finish(CollectiveRank rank) {
  if (rank >= members_.size()) return;
  done_[rank] = true;
  books_.received(members_[rank], plan_->received[rank]);
  under_way_ -= plan_->received[rank];
  books_.end_flight(members_[rank]);
  if (--left_ == 0) {
    books_.received_by_servers(plan_->to_servers);
    under_way_ -= plan_->to_servers;
    if (plan_->sent_by_servers > 0) books_.servers_reduce(false);
  }
  finished_(rank);
}

void CollectiveMove::stop() {
  if (left_ == 0) return;
  cancel_all();
  for (std::size_t member = 0; member < members_.size(); ++member)
    if (!done_[member]) books_.end_flight(members_[member]);
  left_ = 0;
  if (plan_->sent_by_servers > 0) books_.servers_reduce(false);
  books_.lost(std::exchange(under_way_, 0));
}

namespace {

/// One flow: all members are done when it has arrived and its arithmetic is over.
class FluidMove final : public CollectiveMove, private Arrival, private Event {
 public:
  FluidMove(World& world, Books& books, Finished finished) : CollectiveMove(books, std::move(finished)), world_(world) {}

 private:
  void begin() override { flow_ = world_.network.start(plan().fluid.flow(), *this); }
  void cancel_all() noexcept override {
    world_.network.cancel(flow_);
    Event::cancel();
  }
  void arrived() override {
    if (plan().fluid.arithmetic > Time())
      world_.queue().after(plan().fluid.arithmetic, *this);
    else
      happen();
  }
  /// With the last one the next piece may begin, of more members.
  void happen() override {
    const auto all = static_cast<CollectiveRank>(members());
    for (CollectiveRank member = 0; member < all; ++member) finish(member);
  }

  World& world_;
  FlowId flow_ = 0;
};

/// Message by message: each member is done after its last round.
class MessageMove final : public CollectiveMove, private CollectiveWatch {
 public:
  MessageMove(World& world, Books& books, const CollectiveCosts& costs, Finished finished)
      : CollectiveMove(books, std::move(finished)),
        run_(world.simulation, world.network, world.transport, costs, MessageRun::Start::together, std::nullopt, *this) {}

 private:
  void begin() override {
    number_ = run_.open(*plan().schedule, plan().ranks);
    run_.begin_all(number_);
  }
  void cancel_all() noexcept override { run_.stop(); }
  bool watches_messages() const override { return false; }
  /// A server may be done when the next piece has begun.
  void done(std::uint64_t number, CollectiveRank rank) override {
    if (number == number_) finish(rank);
  }

  MessageRun run_;
  std::uint64_t number_ = 0;  // of the piece that moves
};

}  // namespace

std::unique_ptr<CollectiveMove> make_collective_move(World& world, Books& books, const CollectiveCosts& costs,
                                                     std::function<void(std::size_t member)> finished) {
  if (world.cluster.collective.stepwise) return std::make_unique<MessageMove>(world, books, costs, std::move(finished));
  return std::make_unique<FluidMove>(world, books, std::move(finished));
}

}  // namespace straggler
