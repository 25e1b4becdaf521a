// Who waits for whom, where nothing happens any more.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/simulated/post_office.hpp"

namespace straggler {

void PostOffice::unsent(Rank from, Rank to) {
  if (run_.world.is_worker(to)) unsent_[pair_of(from, to)] = run_.world.now();
}

std::string PostOffice::why_silent(Rank node, Rank worker) const {
  if (!run_.world.is_worker(worker)) return {};
  const auto missed = unsent_.find(pair_of(node, worker));
  if (missed == unsent_.end() || run_.workers.state(worker) != Workers::State::member) return run_.workers.whereabouts(worker);
  return ", absent when it was sent a message at " + format_quantity(missed->second.seconds(), Dimension::time) +
         " (node.round, in C++ ClientRounds, invites clients and waits for none that is absent)";
}

/// The workers that may be the reason why `node` waits for anyone: those that missed its last message and do nothing now, and those that
/// are down and awaited.
std::vector<Rank> PostOffice::silent(Rank node) const {
  std::vector<Rank> all;
  for (const auto& [pair, when] : unsent_) {
    const auto worker = static_cast<Rank>(pair & 0xffffffff);
    if (static_cast<Rank>(pair >> 32) == node && (!run_.workers.is_member(worker) || !run_.workers.has_begun(worker)))
      all.push_back(worker);
  }
  for (Rank worker = 0; run_.workers.change() && worker < run_.world.workers; ++worker)
    if (worker != node && run_.workers.awaits(worker) && !run_.workers.is_member(worker)) all.push_back(worker);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string PostOffice::reasons_of(const MailOperation& operation) const {
  const Rank node = operation.node().self();
  if (operation.from() != anyone) return why_silent(node, operation.from());
  constexpr std::size_t most = 3;
  const std::vector<Rank> workers = silent(node);
  std::string text;
  for (std::size_t i = 0; i < workers.size() && i < most; ++i)
    text += (i ? "; " : ": ") + run_.workers.plan().name_of(workers[i]) + why_silent(node, workers[i]);
  if (workers.size() > most) text += "; and " + std::to_string(workers.size() - most) + " more";
  if (workers.empty() && run_.workers.presence().changes() && run_.workers.first_member() == anyone)
    text = ": no client is present, and none will come";
  return text;
}

void PostOffice::describe_waiting(std::vector<std::string>& who) const {
  std::vector<std::string> others;
  mail_.for_each([&](const Mailbox<MessagePointer>& mail) {
    const MailOperation* waiting = nullptr;  // for a contribution, rather than for a change of members
    mail.for_each_waiting([&](const Mailbox<MessagePointer>::Receiver& receiver) {
      const auto& operation = static_cast<const MailOperation&>(receiver);
      if (!waiting || waiting->is_for_notices()) waiting = &operation;
    });
    if (!waiting) return;
    const std::string reasons = reasons_of(*waiting);
    (reasons.empty() ? others : who).push_back(waiting->describe() + reasons);
  });
  who.insert(who.end(), others.begin(), others.end());
  signals_.describe_waiting(who);
}

}  // namespace straggler
