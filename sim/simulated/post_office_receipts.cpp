// How a node takes messages out of its mailbox.
#include <optional>
#include <utility>

#include "sim/base/prefetch.hpp"
#include "sim/simulated/post_office.hpp"

namespace straggler {

/// A server's messages may have waited for long. Fetches the next but one, then the next one's payload and its sender's account.
void PostOffice::prefetch_messages(const Mailbox<MessagePointer>& mail) noexcept {
  if (const MessagePointer* later = mail.item(1)) {
    const char* const message = reinterpret_cast<const char*>(later->get());
    prefetch_line(message);
    prefetch_line(message + 64);
  }
  if (const MessagePointer* next = mail.item(0)) {
    if (const auto* gradient = std::get_if<Gradient>(&(*next)->payload)) prefetch_line(gradient->operator->());
    if (run_.world.is_worker((*next)->from)) run_.books.times().prefetch(static_cast<std::uint32_t>((*next)->from));
  }
}

namespace {
/// Control words take no processor time.
bool is_notice(const Message& message) { return std::holds_alternative<MembershipNotice>(message.payload); }
}  // namespace

bool PostOffice::receive(MailOperation& operation) {
  const Rank rank = operation.node().self();
  Mailbox<MessagePointer>& mail = mail_of(rank);
  std::optional<MessagePointer> item = mail.receive(operation);
  if (!item) return false;
  operation.message = std::move(*item);
  if (many_workers_ && !run_.world.is_worker(rank)) prefetch_messages(mail);
  if (plain_) return true;
  taken(operation);
  if (!takes_time(operation)) return true;
  handle(operation);
  return false;
}

void PostOffice::received(MailOperation& operation) {
  if (plain_) return operation.complete(run_.world.queue());
  taken(operation);
  handle(operation);
}

void PostOffice::taken(const MailOperation& operation) {
  if (run_.workers.plan().newest_weights) take_at_newest(operation);
  if (is_notice(*operation.message)) noticed_.erase(operation.node().self());
  const Rank from = operation.message->from;
  if (run_.workers.change() && run_.world.is_worker(from))
    heard_[pair_of(operation.node().self(), from)] = run_.workers.present_life(from).life;
}

/// A stale gradient's value is taken again at the latest version, which is the server's: between two updates it takes messages only.
void PostOffice::take_at_newest(const MailOperation& operation) const {
  auto* const gradient = std::get_if<Gradient>(&operation.message->payload);
  if (!gradient || run_.world.is_worker(operation.message->to) || (*gradient)->value().empty()) return;
  const Weights& latest = run_.books.latest();
  if ((*gradient)->version() == latest->version) return;
  std::optional<Gradient> again = operation.node().algebra().retaken(*gradient, latest);
  if (!again) throw UnsupportedOperation("sends something that cannot be recomputed at other weights: it is not a gradient of batches");
  *gradient = std::move(*again);
}

Peer PostOffice::last_heard(Rank node, Rank worker) const {
  if (heard_.empty()) return {worker, Peer::any_life};
  const auto found = heard_.find(pair_of(node, worker));
  return {worker, found == heard_.end() ? Peer::any_life : found->second};
}

bool PostOffice::takes_time(const MailOperation& operation) const {
  const Rank rank = operation.node().self();
  return !is_notice(*operation.message) && (processors_.occupies(rank) || coding_.span(rank, operation.message->payload) > Time());
}

void PostOffice::handle(MailOperation& operation) {
  const Rank rank = operation.node().self();
  if (!takes_time(operation)) return operation.complete();
  operation.settle();
  const Time free = processors_.free_from(rank);
  const Time done = handled(rank, *operation.message).back();
  trace_server(rank, "handles a message", free, done);
  run_.world.queue().at(done, operation);
}

}  // namespace straggler
