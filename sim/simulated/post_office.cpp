#include "sim/simulated/post_office.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/base/even_split.hpp"
#include "sim/base/prefetch.hpp"

namespace straggler {

/// From dispatch until it is in the receiver's mailbox. Its parts leave one after another, each when the last byte of the one before it has
/// left. To and from a sharded server a part is one flow per server, side by side. All parts are handed over together.
class PostOffice::Delivery final : public InFlightMessage, public Arrival, public Event {
 public:
  Delivery(PostOffice& office, Rank sender, Rank receiver, Payload&& what)
      : InFlightMessage(sender, receiver, std::move(what)), office_(office) {
    const Parts parts = office.wire_bytes_.parts_of(payload);
    bytes_ = parts.front().bytes;
    if (parts.size() > 1) more().parts = parts;
  }
  ~Delivery() override {
    if (stage == Stage::flowing) {
      if (!has_more) office_.run_.world.network.cancel(flow_);
      for (std::size_t k = 0; has_more && k < more_->flows.size(); ++k) office_.run_.world.network.cancel(more_->flows[k]);
    }
    if (has_more) delete more_;
  }
  /// handled: the sender must handle its next part first; flowing: bytes of a part are leaving; travelling: the last byte is on its way.
  enum class Stage : std::uint8_t { handled, flowing, travelling } stage = Stage::handled;
  std::uint8_t begun = 0;              // parts that have begun to leave
  bool state_transfer : 1 = false;     // the state that a worker needs to start from: not for its mailbox
  bool waits : 1 = false;              // it has arrived, but an earlier one of its pair has not
  bool has_more : 1 = false;           // it has more()
  std::uint32_t number = 0;            // of those that have begun, modulo 2^32
  SendOperation* operation = nullptr;  // the operation that waits for it to have left; null: none
  Time latency;                        // after the last byte of the part that leaves

  /// The price, computed once.
  std::size_t parts() const { return has_more && !more_->parts.empty() ? more_->parts.size() : 1; }
  Part part(std::size_t k) const { return has_more && parts() > 1 ? more_->parts[k] : Part{bytes_}; }
  std::uint64_t sent_bytes() const {
    if (!has_more) return begun > 0 ? bytes_ : 0;
    std::uint64_t bytes = 0;
    for (std::size_t k = 0; k < begun; ++k) bytes += part(k).bytes;
    return bytes;
  }
  /// Of a message that is not one flow alone.
  struct More {
    Parts parts;                // if several
    Moments handled;            // when the sender has handled each of them; empty: it needs no time for them
    Time arrival;               // of the parts that have left
    std::vector<FlowId> flows;  // side by side
    std::size_t flows_left = 0;
  };
  /// Made on first use.
  More& more() {
    if (!has_more) more_ = new More;
    has_more = true;
    return *more_;
  }
  /// Starts `count` flows. Returns the array for their ids.
  FlowId* begin_flows(std::size_t count) {
    stage = Stage::flowing;
    if (count == 1 && !has_more) return &flow_;
    more().flows.assign(count, 0);
    more().flows_left = count;
    return more().flows.data();
  }
  /// Its last byte has left: the time after which all parts are there. A part may have less latency than one before it
  /// (protocol.segments): nothing overtakes.
  Time rest(Time now) const { return has_more ? std::max(latency, more_->arrival - now) : latency; }

 private:
  void arrived() override {
    if (!has_more || --more_->flows_left == 0) office_.drained(*this);
  }
  void happen() override {
    if (stage == Stage::handled)
      office_.send_part(*this);
    else
      office_.delivered(*this);
  }
  union {
    FlowId flow_ = 0;
    More* more_;  // owned; if has_more
  };
  std::uint64_t bytes_;  // of the main part
  PostOffice& office_;
};

PostOffice::PostOffice(const SimulatedRun& run)
    : run_(run),
      trace_(run.books.trace()),
      wire_bytes_{run.world.cluster.bytes.model, run.world.cluster.bytes.state, run.world.cluster.bytes.statistics},
      processors_(run.world, run.books),
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
  return !run_.workers.change() && run_.world.cluster.faults.none() && !run_.workers.plan().compression &&
         !run_.workers.plan().newest_weights && wire_bytes_.statistics == 0 && processors_.free() &&
         run_.world.cluster.servers.count <= 1 && !run_.books.trace();
}

void PostOffice::dispatch(Rank from, Peer to, Payload&& payload, SendOperation* operation) {
  const bool to_worker = run_.world.is_worker(to);
  if (!plain_ && to_worker && run_.workers.change()) {
    if (!run_.workers.is_member(to) || run_.workers.is_former(to)) {
      unsent(from, to);
      if (operation) operation->complete();  // no receiver: nothing is sent
      return;
    }
    if (run_.world.is_worker(from)) workers_write_each_other_ = true;
  }
  if (invitation_watch_ && to_worker) invitation_watch_->invited(to);
  auto& delivery = *new Delivery(*this, from, to.rank, std::move(payload));
  delivery.operation = operation;
  if (operation) operation->in_flight = &delivery;
  if (!plain_) keep_in_order(delivery);
  begin(delivery);
}

[[gnu::always_inline]] inline void PostOffice::start_flow(Delivery& delivery, std::uint64_t bytes) {
  const auto from = static_cast<std::uint32_t>(delivery.from), to = static_cast<std::uint32_t>(delivery.to);
  FlowId& flow = *delivery.begin_flows(1);
  // The sender is done when its last byte has left: bytes flow first, the latency passes after (decision 5).
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

void PostOffice::begin(Delivery& delivery) {
  in_flight_.push_back(delivery);
  delivery.number = begun_++;
  const Rank from = delivery.from;
  if (plain_ || (coding_.span(from, delivery.payload) == Time() && !processors_.occupies(from))) return send_part(delivery);
  const Time free = processors_.free_from(from);
  const Moments handled = this->handled(from, delivery);
  trace_server(from, "sends a message", free, handled.front());
  run_.world.queue().at(handled.front(), delivery);
  if (delivery.parts() > 1) delivery.more().handled = handled;
}

PostOffice::Moments PostOffice::handled(Rank rank, const Message& message) {
  const auto& delivery = static_cast<const Delivery&>(message);
  const Time coding = coding_.span(rank, delivery.payload);
  Moments handled = {processors_.handled(rank, delivery.part(0).bytes, coding)};
  coding_.note(rank, coding, handled.front());
  for (std::size_t k = 1; k < delivery.parts(); ++k) handled.push_back(processors_.handled(rank, delivery.part(k).bytes));
  return handled;
}

/// Its next part begins to leave.
void PostOffice::send_part(Delivery& delivery) {
  const Part part = delivery.part(delivery.begun);
  if (delivery.begun++ == 0) {
    if (trace_) left_[&delivery].sent = run_.world.now();
    run_.books.begin_flight(delivery.from);
    run_.books.begin_flight(delivery.to);
    if (run_.workers.plan().compression) run_.books.spared(wire_bytes_.spared_of(delivery.payload));
  }
  run_.books.sent(delivery.from, part.bytes);
  if (part.kind == Part::Kind::statistics) run_.books.statistics(part.bytes);
  if (run_.world.cluster.servers.count > 1 && (run_.world.is_server(delivery.from) || run_.world.is_server(delivery.to)))
    return start_shards(delivery, part.bytes);
  start_flow(delivery, part.bytes);
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
  const Time now = run_.world.now();
  if (delivery.begun < delivery.parts()) {
    Delivery::More& more = delivery.more();
    more.arrival = std::max(more.arrival, now + delivery.latency);
    if (more.handled.empty() || more.handled[delivery.begun] <= now) return send_part(delivery);
    delivery.stage = Delivery::Stage::handled;
    run_.world.queue().at(more.handled[delivery.begun], delivery);
    return;
  }
  delivery.stage = Delivery::Stage::travelling;
  if (trace_) left_[&delivery].left = now;
  if (invitation_watch_ && run_.world.is_worker(delivery.from)) invitation_watch_->answered(delivery.from);
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete(run_.world.queue());
  }
  const Time rest = delivery.rest(now);
  if (rest == Time()) return delivered(delivery);
  prefetch_waiter(delivery.to);
  run_.world.queue().after(rest, delivery);
}

/// Weights from which later messages are differences; any message, where links fail or a worker that leaves sends a last one.
bool PostOffice::may_be_overtaken(const Delivery& delivery) const {
  return !run_.world.cluster.faults.none() || MessageCodec::begins_differences(run_.workers.plan(), delivery.from, delivery.payload);
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
void PostOffice::release_next(const Delivery& gone) {
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
  if (!delivery.state_transfer && overtakes(delivery)) return;
  if (trace_) trace(delivery, false);
  run_.books.received(delivery.to, delivery.sent_bytes());
  run_.books.end_flight(delivery.from);
  run_.books.end_flight(delivery.to);
  delivery.unlink();
  MessagePointer message(&delivery);
  if (delivery.state_transfer) {
    state_transfers_.erase(delivery.to);
    return state_watch_->state_arrived(delivery.to);
  }
  release_next(delivery);
  deliver(std::move(message));
}

void PostOffice::deliver(MessagePointer message) {
  const Rank to = message->to;
  run_.workers.wake(to);
  if (!unsent_.empty()) unsent_.erase(pair_of(message->from, to));
  if (mail_of(to).put(std::move(message)) < most_waiting_ || overloaded_) return;
  overloaded_ = to;
  run_.world.simulation.stop();
}

/// It will not arrive.
void PostOffice::lose(Delivery& delivery) {
  if (trace_) trace(delivery, true);
  if (delivery.begun > 0) {
    run_.books.lost(delivery.sent_bytes());
    run_.books.end_flight(delivery.from);
    run_.books.end_flight(delivery.to);
  }
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete();
  }
  delivery.unlink();
  const MessagePointer message(&delivery);
  release_next(delivery);
  if (!delivery.state_transfer) return;
  state_transfers_.erase(delivery.to);
  state_watch_->state_lost(delivery.to);
}

void PostOffice::trace(const Delivery& delivery, bool lost) {
  const auto known = left_.find(&delivery);
  if (known == left_.end()) return;  // lost before it left
  MessageTrace message;
  message.from = delivery.from;
  message.to = delivery.to;
  message.bytes = delivery.sent_bytes();
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

void PostOffice::trace_server(Rank rank, const char* what, Time from, Time to) const {
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
  auto& delivery = *new Delivery(*this, source, worker, std::move(state));
  delivery.state_transfer = true;
  state_transfers_[worker] = &delivery;
  begin(delivery);
}

void PostOffice::remove_worker(Rank worker, bool its_sends) {
  if (auto* mail = mail_.find(index_of(worker))) mail->clear();
  noticed_.erase(worker);
  std::vector<Delivery*> lost = under_way(worker);
  std::erase_if(lost, [&](const Delivery* delivery) {
    return delivery->to != worker && (!its_sends || delivery->stage == Delivery::Stage::travelling);
  });
  for (Delivery* delivery : lost) lose(*delivery);
  coding_.forget(worker);
  // Messages that it sent before are not read any more: an answer would reach another life of it.
  if (its_sends) forget_mail_from(worker);
}

/// To or from it, in the order in which they began. With a server all of them are kept by pairs, so a million others are not looked at.
std::vector<PostOffice::Delivery*> PostOffice::under_way(Rank worker) {
  std::vector<Delivery*> found;
  if (run_.world.cluster.faults.none() || !run_.world.has_server() || workers_write_each_other_) {
    for (InFlightMessage& message : in_flight_)
      if (message.from == worker || message.to == worker) found.push_back(static_cast<Delivery*>(&message));
    return found;
  }
  const auto add = [&](std::uint64_t pair) {
    if (const auto known = in_order_.find(pair); known != in_order_.end())
      found.insert(found.end(), known->second.begin(), known->second.end());
  };
  const auto add_both = [&](Rank other) {
    add(pair_of(worker, other));
    add(pair_of(other, worker));
  };
  add_both(run_.world.workers);
  for (Rank k = 0; k < run_.world.cluster.aggregators.count; ++k) add_both(run_.world.cluster.aggregators.first + k);
  if (const auto known = state_transfers_.find(worker); known != state_transfers_.end()) found.push_back(known->second);
  std::ranges::sort(
      found, [this](std::uint32_t a, std::uint32_t b) { return begun_ - a > begun_ - b; }, &Delivery::number);
  return found;
}

void PostOffice::lose_all() {
  in_order_.clear();
  state_transfers_.clear();
  while (!in_flight_.empty()) {
    auto& delivery = static_cast<Delivery&>(in_flight_.front());
    delivery.state_transfer = false;  // nobody waits for it any more
    lose(delivery);
  }
  mail_.for_each([](Mailbox<MessagePointer>& mail) { mail.clear(); });
  unsent_.clear();
  heard_.clear();
  for (Rank worker = 0; worker < run_.world.workers; ++worker) coding_.forget(worker);
  processors_.release();
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
  std::vector<Delivery*> former = under_way(worker);
  std::erase_if(former, [&](const Delivery* delivery) { return delivery->from != worker || delivery->state_transfer; });
  for (Delivery* delivery : former) lose(*delivery);
}

void PostOffice::notify_of_members() {
  const Rank nobody = run_.world.workers;  // where there is a server, its own rank
  const auto notify = [&](Rank rank) {
    // Some schemes never take notices, and one that waits says as much as many. Dated faults are few.
    if (!run_.world.cluster.faults.processes.empty() && !noticed_.insert(rank).second) return;
    deliver(std::make_unique<Message>(nobody, rank, Payload(MembershipNotice())));
  };
  for (Rank k = 0; k < run_.world.cluster.aggregators.count; ++k) notify(run_.world.cluster.aggregators.first + k);
  if (run_.world.has_server()) return notify(run_.world.workers);
  for (Rank worker = 0; run_.world.cluster.peers && worker < run_.world.workers; ++worker)
    if (run_.workers.is_member(worker)) notify(worker);
}

std::uint64_t PostOffice::bytes_in_flight() const {
  std::uint64_t bytes = 0;
  for (const InFlightMessage& message : in_flight_) bytes += static_cast<const Delivery&>(message).sent_bytes();
  return bytes;
}

}  // namespace straggler
