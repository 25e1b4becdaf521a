// Messages in simulated time: from dispatch over the network, or over several links side by side to and from sharded servers, into the
// receiver's mailbox; what is lost on the way is counted.
#include <algorithm>
#include <memory>
#include <utility>

#include "sim/backend/delivery.hpp"
#include "sim/backend/membership.hpp"
#include "sim/backend/simulated_backend.hpp"

namespace straggler {

MessagePointer SimulatedBackend::make_message(Rank from, Peer to, Payload payload) {
  auto delivery = std::make_unique<Delivery>(*this, from, to.rank, std::move(payload));
  delivery->to_former_life = membership_ && membership_->is_former(to);
  return delivery;
}

std::uint64_t SimulatedBackend::main_bytes_of(const Payload& payload) const {
  if (const auto* weights = std::get_if<Weights>(&payload))
    return cluster_.model_bytes + cluster_.state_bytes * (*weights)->optimizer().size();
  if (const auto* samples = std::get_if<Samples>(&payload)) return (*samples)->bytes;
  return std::holds_alternative<Gradient>(payload) ? cluster_.model_bytes : 0;
}

std::uint64_t SimulatedBackend::statistics_of(const Payload& payload) const {
  return std::holds_alternative<Weights>(payload) || std::holds_alternative<Gradient>(payload) ? cluster_.statistics_bytes : 0;
}

std::uint64_t SimulatedBackend::sent_bytes(const Delivery& delivery) const {
  if (delivery.stage == Delivery::Stage::handled) return 0;
  return main_bytes_of(delivery.payload) + (delivery.second ? statistics_of(delivery.payload) : 0);
}

void SimulatedBackend::dispatch(MessagePointer message, SendOperation* operation) {
  const Delivery& asked = static_cast<Delivery&>(*message);
  if (is_worker(message->to) && (!is_member(message->to) || asked.to_former_life) && !asked.state_transfer) {
    if (operation) operation->complete();  // nobody to take it: nothing is sent
    return;
  }
  if (membership_ && is_worker(message->from) && is_worker(message->to)) workers_write_each_other_ = true;
  auto& delivery = static_cast<Delivery&>(*message.release());
  in_flight_.push_back(delivery);
  delivery.operation = operation;
  if (operation) operation->in_flight = &delivery;
  if (!occupies(delivery.from)) return transmit(delivery);
  simulation_.queue().at(handled(delivery.from, main_bytes_of(delivery.payload)), delivery);
  if (const std::uint64_t statistics = statistics_of(delivery.payload); statistics > 0)
    delivery.second_handled = handled(delivery.from, statistics);
}

void SimulatedBackend::transmit(Delivery& delivery) {
  begin_flight(delivery.from);
  begin_flight(delivery.to);
  start_flows(delivery, main_bytes_of(delivery.payload));
}

void SimulatedBackend::transmit_statistics(Delivery& delivery) {
  const std::uint64_t bytes = statistics_of(delivery.payload);
  delivery.second = true;
  recorder_.bytes().statistics += bytes;
  start_flows(delivery, bytes);
}

void SimulatedBackend::start_flows(Delivery& delivery, std::uint64_t bytes) {
  delivery.stage = Delivery::Stage::flowing;
  count_sent(delivery.from, bytes);
  if (cluster_.servers > 1 && !(is_worker(delivery.from) && is_worker(delivery.to))) return start_shards(delivery, bytes);
  const auto from = static_cast<std::uint32_t>(delivery.from), to = static_cast<std::uint32_t>(delivery.to);
  transport_.plan(from, to, static_cast<double>(bytes), carriage_);
  network_.prefetch(carriage_.links);
  prefetch_worker(delivery.to);
  delivery.flows_left = 1;
  delivery.latency = carriage_.after;
  // The sender is done when its last byte has left: bytes flow first, the latency passes after (docs/decisions/005).
  if (carriage_.plain())
    delivery.flow = network_.start(carriage_.links, carriage_.bytes, carriage_.before, delivery);
  else
    delivery.flow = network_.start(carriage_.flow(carriage_.before), delivery);
}

void SimulatedBackend::start_shards(Delivery& delivery, std::uint64_t bytes) {
  const std::uint64_t servers = cluster_.servers;
  delivery.flows_left = static_cast<std::uint32_t>(servers);
  delivery.latency = Time();
  if (!delivery.sharded) delivery.shards = new FlowId[servers]();
  delivery.sharded = true;
  const bool pushed = is_worker(delivery.from);
  for (std::uint64_t s = 0; s < servers; ++s) {
    const std::uint64_t shard = bytes / servers + (s < bytes % servers ? 1 : 0);
    const auto worker = static_cast<std::uint32_t>(pushed ? delivery.from : delivery.to);
    const auto server = static_cast<std::uint32_t>(plan_.workers) + static_cast<std::uint32_t>(s);
    transport_.plan(pushed ? worker : server, pushed ? server : worker, static_cast<double>(shard), carriage_);
    delivery.latency = std::max(delivery.latency, carriage_.after);
    delivery.shards[s] = network_.start(carriage_.flow(carriage_.before), delivery);
  }
}

void SimulatedBackend::drained(Delivery& delivery) {
  if (cluster_.statistics_bytes > 0 && !delivery.second && statistics_of(delivery.payload) > 0) {
    delivery.first_arrival = now() + delivery.latency;
    if (delivery.second_handled <= now()) return transmit_statistics(delivery);
    delivery.stage = Delivery::Stage::between;
    simulation_.queue().at(delivery.second_handled, delivery);
    return;
  }
  delivery.stage = Delivery::Stage::travelling;
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete();
  }
  // A small message may have less latency than a large one (protocol.segments): nothing overtakes.
  const Time rest = std::max(delivery.latency, delivery.second ? delivery.first_arrival - now() : Time());
  if (rest == Time()) return delivered(delivery);
  prefetch_waiter(delivery.to);
  simulation_.queue().after(rest, delivery);
}

void SimulatedBackend::delivered(Delivery& delivery) {
  count_received(delivery.to, sent_bytes(delivery));
  end_flight(delivery.from);
  end_flight(delivery.to);
  delivery.unlink();
  MessagePointer message(&delivery);
  if (delivery.state_transfer) return membership_->state_arrived(delivery.to);
  mail_[static_cast<std::size_t>(delivery.to)].put(std::move(message));
}

/// It will not arrive.
void SimulatedBackend::lose(Delivery& delivery) {
  if (delivery.stage != Delivery::Stage::handled) {
    recorder_.bytes().lost += sent_bytes(delivery);
    end_flight(delivery.from);
    end_flight(delivery.to);
  }
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete();
  }
  delivery.unlink();
  const MessagePointer message(&delivery);
  if (delivery.state_transfer) membership_->state_lost(delivery.to);
}

void SimulatedBackend::prefetch_worker(Rank rank) const noexcept {
  if (!is_worker(rank)) return;
  nodes_[static_cast<std::size_t>(rank)].prefetch();
  recorder_.times().prefetch(static_cast<std::uint32_t>(rank));
  __builtin_prefetch(&mail_[static_cast<std::size_t>(rank)]);
}

/// Whoever waits for a message of its own, once that has left: its node and mailbox were fetched before.
void SimulatedBackend::prefetch_waiter(Rank rank) const noexcept {
  if (!is_worker(rank)) return;
  if (const auto* receiver = mail_[static_cast<std::size_t>(rank)].first_waiting())
    static_cast<const MailOperation*>(receiver)->prefetch_waiter();
}

/// A server's messages may have waited for long: the next but one, then what the next one carries and its sender's account.
void SimulatedBackend::prefetch_messages(const Mailbox<MessagePointer>& mail) const noexcept {
  if (const MessagePointer* later = mail.item(1)) {
    const char* const message = reinterpret_cast<const char*>(later->get());
    __builtin_prefetch(message);
    __builtin_prefetch(message + 64);
  }
  if (const MessagePointer* next = mail.item(0)) {
    if (const auto* gradient = std::get_if<Gradient>(&(*next)->payload)) __builtin_prefetch(gradient->operator->());
    if (is_worker((*next)->from)) recorder_.times().prefetch(static_cast<std::uint32_t>((*next)->from));
  }
}

void SimulatedBackend::count_sent(Rank rank, std::uint64_t bytes) {
  recorder_.bytes().sent += bytes;
  if (is_worker(rank)) recorder_.worker(rank).bytes_sent += bytes;
}

void SimulatedBackend::count_received(Rank rank, std::uint64_t bytes) {
  recorder_.bytes().received += bytes;
  if (is_worker(rank)) recorder_.worker(rank).bytes_received += bytes;
}

}  // namespace straggler
