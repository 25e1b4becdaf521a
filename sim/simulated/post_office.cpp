#include "sim/simulated/post_office.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/base/even_split.hpp"
#include "sim/base/prefetch.hpp"

namespace straggler {

namespace {
const WeightsDifference* difference_in(const Payload& payload) {
  const auto* weights = std::get_if<Weights>(&payload);
  return weights ? (*weights)->difference() : nullptr;
}
}  // namespace

/// From dispatch until it is in the receiver's mailbox. To and from a sharded server it is one flow per server, side by side; it has
/// arrived when the last flow has. Running statistics are a second message, which leaves after the last byte of the first one; the two are
/// handed over together.
class PostOffice::Delivery final : public InFlightMessage, public Arrival, public Event {
 public:
  Delivery(PostOffice& office, Rank sender, Rank receiver, Payload&& what)
      : InFlightMessage(sender, receiver, std::move(what)), office_(office) {}
  ~Delivery() override {
    if (stage == Stage::flowing) {
      if (!in_parts) office_.run_.world.network.cancel(flow_);
      for (std::size_t k = 0; in_parts && k < parts_->flows.size(); ++k) office_.run_.world.network.cancel(parts_->flows[k]);
    }
    if (in_parts) delete parts_;
  }
  /// handled: the sender's handling delays it; flowing: its bytes are leaving; between: the sender still handles the second message;
  /// travelling: the last byte is on its way.
  enum class Stage : std::uint8_t { handled, flowing, between, travelling } stage = Stage::handled;
  bool second : 1 = false;             // the running statistics have begun to leave
  bool state_transfer : 1 = false;     // the state that a worker needs to start from: not for its mailbox
  bool in_parts : 1 = false;           // it has parts()
  bool waits : 1 = false;              // it has arrived, but an earlier one of its pair has not
  SendOperation* operation = nullptr;  // the operation that waits for it to have left; null: none
  Time latency;                        // after the last byte has left

  /// Of a message that is not one flow alone: to or from several servers, or with running statistics.
  struct Parts {
    std::vector<FlowId> flows;  // side by side
    std::size_t flows_left = 0;
    Time second_handled;  // when the sender has handled the second message
    Time first_arrival;   // of the first message, where there are two
  };
  /// Made on first use.
  Parts& parts() {
    if (!in_parts) parts_ = new Parts;
    in_parts = true;
    return *parts_;
  }
  /// Starts `count` flows. Returns the array for their ids.
  FlowId* begin_flows(std::size_t count) {
    stage = Stage::flowing;
    if (count == 1 && !in_parts) return &flow_;
    parts().flows.assign(count, 0);
    parts().flows_left = count;
    return parts().flows.data();
  }

 private:
  void arrived() override {
    if (!in_parts || --parts_->flows_left == 0) office_.drained(*this);
  }
  void happen() override {
    if (stage == Stage::handled)
      office_.transmit(*this);
    else if (stage == Stage::between)
      office_.transmit_statistics(*this);
    else
      office_.delivered(*this);
  }
  union {
    FlowId flow_ = 0;
    Parts* parts_;  // owned; if in_parts
  };
  PostOffice& office_;
};

PostOffice::PostOffice(const SimulatedRun& run)
    : run_(run),
      trace_(run.books.trace()),
      wire_bytes_{run.world.cluster.bytes.model, run.world.cluster.bytes.state, run.world.cluster.bytes.statistics},
      processors_(run.world),
      coding_(run.world, run.books, processors_),
      signals_(run.world.simulation, *run.world.cluster.fabric, run.world.workers),
      plain_(is_plain()),
      many_workers_(run.world.workers >= many),
      most_waiting_(std::max(std::size_t{262'144}, 4 * index_of(run.world.workers))),
      mail_(run.world.rank_bound()) {}

PostOffice::~PostOffice() { take_down(); }

void PostOffice::take_down() {
  mail_ = SparseArray<Mailbox<MessagePointer>>();
  left_.clear();
  in_order_.clear();
  while (!in_flight_.empty()) {
    auto& delivery = static_cast<Delivery&>(in_flight_.front());
    in_flight_.pop_front();
    delete &delivery;
  }
}

bool PostOffice::is_plain() const {
  return !run_.workers.change() && run_.world.cluster.faults.list.empty() && !run_.workers.plan().compression &&
         !run_.workers.plan().newest_weights && wire_bytes_.statistics == 0 && processors_.free() &&
         run_.world.cluster.servers.count <= 1 && !run_.books.trace();
}

std::uint64_t PostOffice::sent_bytes(const Delivery& delivery) const {
  if (delivery.stage == Delivery::Stage::handled) return 0;
  return wire_bytes_.main_of(delivery.payload) + (delivery.second ? wire_bytes_.statistics_of(delivery.payload) : 0);
}

void PostOffice::dispatch_to_life(Rank from, Peer to, Payload&& payload, SendOperation* operation) {
  if (run_.world.is_worker(to) && run_.workers.change() && (!run_.workers.is_member(to) || run_.workers.is_former(to))) {
    unsent(from, to);
    if (operation) operation->complete();  // no receiver: nothing is sent
    return;
  }
  if (invitation_watch_ && run_.world.is_worker(to)) invitation_watch_->invited(to);
  if (run_.workers.change() && run_.world.is_worker(from) && run_.world.is_worker(to)) workers_write_each_other_ = true;
  auto delivery = std::make_unique<Delivery>(*this, from, to.rank, std::move(payload));
  delivery->operation = operation;
  if (operation) operation->in_flight = delivery.get();
  keep_in_order(*delivery);
  dispatch(std::move(delivery));
}

[[gnu::always_inline]] inline void PostOffice::let_flow(Delivery& delivery, std::uint64_t bytes) {
  const auto from = static_cast<std::uint32_t>(delivery.from), to = static_cast<std::uint32_t>(delivery.to);
  FlowId& flow = *delivery.begin_flows(1);
  // The sender is done when its last byte has left: bytes flow first, the latency passes after (docs/decisions/005).
  if (run_.world.transport.plain()) {
    const Route& route = run_.world.transport.route(from, to);
    if (many_workers_) run_.world.network.prefetch(route.links);
    prefetch_worker(delivery.to);
    delivery.latency = route.latency;
    flow = run_.world.network.start_on_route(route.links, static_cast<double>(bytes), Time(), delivery);
    return;
  }
  run_.world.transport.plan(from, to, static_cast<double>(bytes), carriage_);
  prefetch_worker(delivery.to);
  delivery.latency = carriage_.after;
  flow = run_.world.network.start(carriage_.flow(carriage_.before), delivery);
}

void PostOffice::dispatch_plain(Rank from, Rank to, Payload&& payload, SendOperation* operation) {
  if (invitation_watch_ && run_.world.is_worker(to)) invitation_watch_->invited(to);
  Delivery& delivery = *new Delivery(*this, from, to, std::move(payload));
  delivery.operation = operation;
  if (operation) operation->in_flight = &delivery;
  in_flight_.push_back(delivery);
  run_.books.begin_flight(from);
  run_.books.begin_flight(to);
  const std::uint64_t bytes = wire_bytes_.main_of(delivery.payload);
  run_.books.sent(from, bytes);
  let_flow(delivery, bytes);
}

void PostOffice::dispatch(std::unique_ptr<Delivery> message) {
  Delivery& delivery = *message.release();
  in_flight_.push_back(delivery);
  const Time coding = coding_.span(delivery.from, delivery.payload);
  if (coding == Time() && !processors_.occupies(delivery.from)) return transmit(delivery);
  const Time free = processors_.free_from(delivery.from);
  const Time handled = processors_.handled(delivery.from, wire_bytes_.main_of(delivery.payload), coding);
  tell_server(delivery.from, "sends a message", free, handled);
  coding_.note(delivery.from, coding, handled);
  run_.world.queue().at(handled, delivery);
  if (const std::uint64_t statistics = wire_bytes_.statistics_of(delivery.payload); statistics > 0)
    delivery.parts().second_handled = processors_.handled(delivery.from, statistics);
}

void PostOffice::transmit(Delivery& delivery) {
  if (trace_) left_[&delivery].sent = run_.world.now();
  run_.books.begin_flight(delivery.from);
  run_.books.begin_flight(delivery.to);
  run_.books.spared(wire_bytes_.spared_of(delivery.payload));
  start_flows(delivery, wire_bytes_.main_of(delivery.payload));
}

void PostOffice::transmit_statistics(Delivery& delivery) {
  const std::uint64_t bytes = wire_bytes_.statistics_of(delivery.payload);
  delivery.second = true;
  run_.books.statistics(bytes);
  start_flows(delivery, bytes);
}

void PostOffice::start_flows(Delivery& delivery, std::uint64_t bytes) {
  run_.books.sent(delivery.from, bytes);
  if (run_.world.cluster.servers.count > 1 && (run_.world.is_server(delivery.from) || run_.world.is_server(delivery.to)))
    return start_shards(delivery, bytes);
  let_flow(delivery, bytes);
}

void PostOffice::start_shards(Delivery& delivery, std::uint64_t bytes) {
  const std::uint64_t servers = run_.world.cluster.servers.count;
  FlowId* const flows = delivery.begin_flows(servers);
  delivery.latency = Time();
  const bool pushed = run_.world.is_server(delivery.to);
  const auto shards = EvenSplit<std::uint64_t>::of(bytes, servers);
  for (std::uint64_t s = 0; s < servers; ++s) {
    const Rank other = pushed ? delivery.from : delivery.to;
    const Rank server = run_.world.workers + static_cast<Rank>(s);
    run_.world.transport.plan(pushed ? other : server, pushed ? server : other, static_cast<double>(shards.size(s)), carriage_);
    delivery.latency = std::max(delivery.latency, carriage_.after);
    flows[s] = run_.world.network.start(carriage_.flow(carriage_.before), delivery);
  }
}

void PostOffice::drained(Delivery& delivery) {
  if (wire_bytes_.statistics > 0 && !delivery.second && wire_bytes_.statistics_of(delivery.payload) > 0) {
    delivery.parts().first_arrival = run_.world.now() + delivery.latency;
    if (delivery.parts().second_handled <= run_.world.now()) return transmit_statistics(delivery);
    delivery.stage = Delivery::Stage::between;
    run_.world.queue().at(delivery.parts().second_handled, delivery);
    return;
  }
  delivery.stage = Delivery::Stage::travelling;
  if (trace_) left_[&delivery].left = run_.world.now();
  if (invitation_watch_ && run_.world.is_worker(delivery.from)) invitation_watch_->answered(delivery.from);
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete(run_.world.queue());
  }
  // A small message may have less latency than a large one (protocol.segments): nothing overtakes.
  const Time rest = std::max(delivery.latency, delivery.second ? delivery.parts().first_arrival - run_.world.now() : Time());
  if (rest == Time()) return delivered(delivery);
  prefetch_waiter(delivery.to);
  run_.world.queue().after(rest, delivery);
}

/// Whole weights, where later ones are differences; any message, where links fail or a worker that leaves sends a last one.
bool PostOffice::may_be_overtaken(const Delivery& delivery) const {
  if (!run_.world.cluster.faults.list.empty()) return true;
  const Compression* const compression = run_.workers.plan().compression;
  const auto* const weights = std::get_if<Weights>(&delivery.payload);
  return compression && (compression->answers || (compression->of_weights && run_.world.is_worker(delivery.from))) && weights &&
         !(*weights)->kept() && !difference_in(delivery.payload);
}

void PostOffice::keep_in_order(Delivery& delivery) {
  const std::uint64_t pair = pair_of(delivery.from, delivery.to);
  if (may_be_overtaken(delivery)) return in_order_[pair].push_back(&delivery);
  if (in_order_.empty()) return;
  if (const auto known = in_order_.find(pair); known != in_order_.end()) known->second.push_back(&delivery);
}

/// It has arrived before another that was sent before it: it waits for that one.
bool PostOffice::overtakes(Delivery& delivery) {
  if (in_order_.empty()) return false;
  const auto known = in_order_.find(pair_of(delivery.from, delivery.to));
  delivery.waits = known != in_order_.end() && known->second.front() != &delivery;
  return delivery.waits;
}

/// The message has arrived, or is lost: the next one of its pair follows.
void PostOffice::let_follow(const Delivery& gone) {
  if (in_order_.empty()) return;
  const auto known = in_order_.find(pair_of(gone.from, gone.to));
  if (known == in_order_.end()) return;
  auto& messages = known->second;
  const auto place = std::find(messages.begin(), messages.end(), &gone);
  if (place == messages.end()) return;
  messages.erase(place);
  if (messages.empty()) {
    in_order_.erase(known);
  } else if (Delivery& next = *messages.front(); next.waits) {
    next.waits = false;
    run_.world.queue().after(Time(), next);
  }
}

void PostOffice::delivered(Delivery& delivery) {
  if (plain_) {
    run_.books.received(delivery.to, wire_bytes_.main_of(delivery.payload));
    run_.books.end_flight(delivery.from);
    run_.books.end_flight(delivery.to);
    delivery.unlink();
    return hand_over(MessagePointer(&delivery));
  }
  if (!delivery.state_transfer && overtakes(delivery)) return;
  if (trace_) tell(delivery, false);
  run_.books.received(delivery.to, sent_bytes(delivery));
  run_.books.end_flight(delivery.from);
  run_.books.end_flight(delivery.to);
  delivery.unlink();
  MessagePointer message(&delivery);
  if (delivery.state_transfer) return state_watch_->state_arrived(delivery.to);
  let_follow(delivery);
  hand_over(std::move(message));
}

void PostOffice::hand_over(MessagePointer message) {
  const Rank to = message->to;
  run_.workers.wake(to);
  if (!unsent_.empty()) unsent_.erase(pair_of(message->from, to));
  if (mail_of(to).put(std::move(message)) < most_waiting_ || overloaded_) return;
  overloaded_ = to;
  run_.world.simulation.stop();
}

/// It will not arrive.
void PostOffice::lose(Delivery& delivery) {
  if (trace_) tell(delivery, true);
  if (delivery.stage != Delivery::Stage::handled) {
    run_.books.lost(sent_bytes(delivery));
    run_.books.end_flight(delivery.from);
    run_.books.end_flight(delivery.to);
  }
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete();
  }
  delivery.unlink();
  const MessagePointer message(&delivery);
  let_follow(delivery);
  if (delivery.state_transfer) state_watch_->state_lost(delivery.to);
}

void PostOffice::tell(const Delivery& delivery, bool lost) {
  const auto known = left_.find(&delivery);
  if (known == left_.end()) return;  // lost before it left
  MessageTrace message;
  message.from = delivery.from;
  message.to = delivery.to;
  message.bytes = sent_bytes(delivery);
  message.sent = known->second.sent;
  message.arrived = run_.world.now();
  message.left = delivery.stage == Delivery::Stage::travelling ? known->second.left : message.arrived;
  message.lost = lost;
  left_.erase(known);
  if (const auto* weights = std::get_if<Weights>(&delivery.payload)) {
    message.what = (*weights)->kept() ? "kept vector" : "weights";
    message.version = (*weights)->version;
  } else if (const auto* gradient = std::get_if<Gradient>(&delivery.payload)) {
    message.what = "gradient";
    message.version = (*gradient)->version();
  } else {
    message.what = std::holds_alternative<Token>(delivery.payload) ? "token" : "samples";
  }
  trace_->message(message);
}

void PostOffice::tell_server(Rank rank, const char* what, Time from, Time to) const {
  if (trace_ && !run_.world.is_worker(rank) && to > from) trace_->served(rank, what, from, to);
}

void PostOffice::prefetch_worker(Rank rank) noexcept {
  if (!many_workers_ || !run_.world.is_worker(rank)) return;
  if (const Node* node = run_.workers.find_node(rank)) node->prefetch();
  run_.books.times().prefetch(rank);
  prefetch_line(mail_.find(index_of(rank)));
}

/// The operation that waits in this worker's mailbox, after a message has left: its node and mailbox were fetched before.
void PostOffice::prefetch_waiter(Rank rank) noexcept {
  if (!many_workers_ || !run_.world.is_worker(rank)) return;
  const auto* mail = mail_.find(index_of(rank));
  if (!mail) return;
  if (const auto* receiver = mail->first_waiting()) static_cast<const MailOperation*>(receiver)->prefetch_waiter();
}

void PostOffice::forget(SendOperation& operation) noexcept {
  if (auto* delivery = static_cast<Delivery*>(operation.in_flight)) delivery->operation = nullptr;
}

void PostOffice::transfer_state(Rank source, Rank worker, Payload state) {
  auto delivery = std::make_unique<Delivery>(*this, source, worker, std::move(state));
  delivery->state_transfer = true;
  dispatch(std::move(delivery));
}

void PostOffice::remove_worker(Rank worker, bool its_sends) {
  if (auto* mail = mail_.find(index_of(worker))) mail->clear();
  std::vector<Delivery*> lost;
  for (InFlightMessage& message : in_flight_) {
    auto& delivery = static_cast<Delivery&>(message);
    const bool broken_off = delivery.from == worker && its_sends && delivery.stage != Delivery::Stage::travelling;
    if (delivery.to == worker || broken_off) lost.push_back(&delivery);
  }
  for (Delivery* delivery : lost) lose(*delivery);
  coding_.forget(worker);
  // Messages that it sent before are not read any more: an answer would reach another life of it.
  if (its_sends) forget_mail_from(worker);
}

void PostOffice::forget_mail_from(Rank worker) {
  const auto of_it = [worker](const MessagePointer& message) { return message->from == worker; };
  if (run_.world.has_server()) mail_of(run_.world.workers).remove_if(of_it);
  for (Rank k = 0; k < run_.world.cluster.aggregators.count; ++k) mail_of(run_.world.cluster.aggregators.first + k).remove_if(of_it);
  if (!workers_write_each_other_) return;
  mail_.for_each([&](Mailbox<MessagePointer>& mail) { mail.remove_if(of_it); });
}

void PostOffice::forget_former_life(Rank worker) {
  forget_mail_from(worker);
  std::vector<Delivery*> former;
  for (InFlightMessage& message : in_flight_) {
    auto& delivery = static_cast<Delivery&>(message);
    if (delivery.from == worker && !delivery.state_transfer) former.push_back(&delivery);
  }
  for (Delivery* delivery : former) lose(*delivery);
}

void PostOffice::tell_of_members() {
  const Rank nobody = run_.world.workers;  // where there is a server, its own rank
  const auto tell = [&](Rank rank) { hand_over(std::make_unique<Message>(nobody, rank, Payload(MembershipNotice()))); };
  for (Rank k = 0; k < run_.world.cluster.aggregators.count; ++k) tell(run_.world.cluster.aggregators.first + k);
  if (run_.world.has_server()) return tell(run_.world.workers);
  for (Rank worker = 0; run_.world.cluster.peers && worker < run_.world.workers; ++worker)
    if (run_.workers.is_member(worker)) tell(worker);
}

std::uint64_t PostOffice::bytes_in_flight() const {
  std::uint64_t bytes = 0;
  for (const InFlightMessage& message : in_flight_) bytes += sent_bytes(static_cast<const Delivery&>(message));
  return bytes;
}

}  // namespace straggler
