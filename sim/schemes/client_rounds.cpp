#include "sim/schemes/client_rounds.hpp"

#include "sim/base/readable.hpp"

namespace straggler {

namespace {
constexpr int most_empty_rounds = 1000;
}

ClientRounds::ClientRounds(const FederatedRounds& rounds, Node& node, Node::Pool pool, First first)
    : rounds_(rounds),
      node_(node),
      pool_(pool),
      begin_by_themselves_(first == First::by_themselves && !node.starts_again()),
      whole_(pool.count == node.workers() && node.is_server()),
      busy_(node),
      deadline_(rounds.deadline(), node, rounds.clients_of(pool.count)),
      draws_(node),
      counted_(node),
      left_(node),
      enrolled_(node, node.plan().clients_keep_vectors ? enrolled() : 0) {}

double ClientRounds::enrolled() const {
  if (!rounds_.by_samples()) return std::max<Rank>(node_.enrolled(), 1);
  double all = 0;
  for (Rank client = 0; client < node_.workers(); ++client)
    if (node_.is_enrolled(client)) all += rounds_.count(node_, client);
  return std::max(all, 1.0);
}

void ClientRounds::note_invited(const std::vector<Rank>& ranks) {
  busy_.begin_round();
  for (const Rank rank : ranks) {
    busy_.add(rank);
    deadline_.invited(node_.present(rank));
  }
  const auto clients = only_.empty() ? static_cast<std::size_t>(rounds_.clients_of(pool_.count)) : only_.size();
  wanted_ = std::min(clients, ranks.size());
}

/// A round that may end without some of its clients has members only. Others wait for those that are down and awaited.
bool ClientRounds::may_invite(Rank rank) const {
  return !busy_.contains(rank) && (rounds_.may_miss(node_) ? node_.is_member(rank) : node_.awaits(rank));
}

std::vector<Rank> ClientRounds::draw() {
  const auto may = [this](Rank rank) { return may_invite(rank); };
  const std::uint64_t number = (*draws_)++;
  if (only_.empty()) return node_.draw_clients(pool_, rounds_.invited_of(pool_.count), number, may);
  std::vector<Rank> ranks;
  std::copy_if(only_.begin(), only_.end(), std::back_inserter(ranks), may);
  return ranks;
}

void ClientRounds::send_invitations(const Weights& weights, std::span<const Rank> ranks) const {
  if (!node_.plan().clients_keep_vectors || !rounds_.may_not_count(node_)) return node_.broadcast(weights, ranks);
  std::map<std::uint64_t, Weights> told;  // those with the same word share one state
  for (const Rank& rank : ranks) {
    const auto [invitation, is_new] = told.try_emplace(counted(rank), weights);
    if (is_new) invitation->second.edit().more.edit().about_kept.edit().counted = invitation->first;
    node_.broadcast(invitation->second, std::span(&rank, 1));
  }
}

bool ClientRounds::draw_and_invite(const Weights& weights) {
  for (const Rank rank : busy_.lost()) busy_.remove(rank);
  const std::vector<Rank> ranks = draw();
  note_invited(ranks);
  send_invitations(weights, ranks);
  return !ranks.empty();
}

/// A client that crashed is asked again when it is back, where the others wait for it.
void ClientRounds::forget_lost(const Weights& weights) {
  const bool waits = rounds_.waits() && !node_.plan().clients_come_and_go;
  for (const Rank rank : busy_.lost()) {
    if (!waits || !busy_.awaits(rank) || !node_.awaits(rank)) {
      busy_.remove(rank);
    } else if (node_.is_member(rank)) {
      busy_.add(rank);
      deadline_.invited(node_.present(rank));
      send_invitations(weights, std::span(&rank, 1));
    }
  }
}

bool ClientRounds::nobody_comes(const Weights& weights, bool has_timer) {
  if (draw_and_invite(weights)) return false;
  if (!has_timer && !whole_ && busy_.count() == 0) return true;
  if (node_.plan().clients_come_and_go) node_.await_comers();
  return false;
}

void ClientRounds::take_vector_of_leaver(const From<Weights>& arrived) {
  const Rank client = arrived.sender.rank;
  if (const Handle& vector = arrived->kept()->after(counted(client)); !vector.empty())
    left_->push_back({vector, rounds_.count(node_, client)});
  counted_->erase(client);
}

bool ClientRounds::take(From<Weights> arrived, const Weights& weights) {
  const bool answers = busy_.remove(arrived.sender.rank) && arrived->version == weights->version && arrived->progress == weights->progress;
  if (!answers || arrived->made().empty() || arrived->made().front().steps == 0) {
    node_.discard<Weights>(arrived);
    return answers;
  }
  if (node_.plan().clients_keep_vectors) (*counted_)[arrived.sender.rank] = weights->version;
  parts_.push_back(std::move(arrived));
  return true;
}

void ClientRounds::note_round(bool empty) {
  if (!empty) empty_rounds_ = 0;
  if (empty && (wanted_ > 0 || busy_.count() > 0)) ++empty_rounds_;  // some client was invited
  if (empty_rounds_ == most_empty_rounds)
    throw UnsupportedOperation(std::string("no client answered within ") +
                               (deadline_.adapts() ? "the adaptive deadline, " : "deadline.time, ") +
                               readable_seconds(deadline_.now().value_or(Time()).seconds()) + ", in " + std::to_string(most_empty_rounds) +
                               " consecutive rounds; write a longer time, or late: partial");
}

Task<std::vector<Weights>> ClientRounds::round(Weights weights, std::vector<Rank> clients) {
  only_ = std::move(clients);
  if (*draws_ == 0 && begin_by_themselves_) {
    note_invited(*node_.first_clients(pool_, rounds_.invited_of(pool_.count)));
    ++*draws_;
  } else {
    draw_and_invite(weights);
  }
  std::optional<Pending<TimerOperation>> timer;
  if (const std::optional<Time> span = deadline_.now(); span && !rounds_.sends_partial()) timer.emplace(node_.begin(node_.timer(*span)));
  parts_.clear();
  bool answered = false;  // by a client of this round, even without a step
  forget_lost(weights);
  while (wanted_ == 0 || parts_.size() < wanted_) {
    if (busy_.awaited() == 0 && (answered || nobody_comes(weights, timer.has_value()))) break;
    std::optional<From<Weights>> arrived;
    if (timer) {
      auto first = co_await first_of_in_flight(*timer, node_.arrival<Weights>());
      if (first.index() == 0) break;
      arrived = std::get<1>(std::move(first));
    } else {
      arrived = co_await node_.arrival<Weights>();
    }
    if (arrived && !(*arrived)->kept()) deadline_.arrived(arrived->sender);
    if (!arrived)
      forget_lost(weights);
    else if ((*arrived)->kept())
      take_vector_of_leaver(*arrived);
    else
      answered |= take(std::move(*arrived), weights);
  }
  note_round(parts_.empty());
  sort_by_rank(parts_);
  std::vector<Weights> all = payloads(parts_);
  parts_.clear();
  co_return all;
}

Process answer_invitations(Node& node, const FederatedRounds& rounds, MomentumAtSync momentum) {
  Weights weights = node.initial_weights();
  if (!rounds.takes_part(node, weights)) weights = co_await node.receive<Weights>(node.server());
  weights = momentum.incoming(node, weights);
  for (;;) {
    weights = co_await rounds.train_locally(node, weights);
    const Weights mine = momentum.outgoing(node, weights);
    co_await node.send(node.server(), mine);
    const Weights next = co_await node.receive<Weights>(node.server());
    weights = momentum.incoming(node, next);
  }
}

Process average_rounds(Node& node, const FederatedRounds& rounds) {
  Weights weights = rounds.initial_weights(node);
  ClientRounds clients(rounds, node);
  for (;;) {
    const std::vector<Weights> parts = co_await clients.round(weights);
    if (!parts.empty()) weights = rounds.mean(node, parts);
    weights = co_await node.publish(weights);
  }
}

}  // namespace straggler
