#include "sim/schemes/federated.hpp"

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

enum class Late { drop, partial };
constexpr ChoiceTable<Late> late_choice("deadline.late", {{Late::drop, "drop"}, {Late::partial, "partial"}});
using By = ClientSelection::By;
constexpr ChoiceTable<By> selection_choice("selection.kind",
                                           {{By::chance, "uniform"}, {By::samples, "by_samples"}, {By::speed, "fastest_of"}});

constexpr int most_empty_rounds = 1000;

template <class Enumerator>
Parameter optional_choice(const ChoiceTable<Enumerator>& table, std::string meaning) {
  return {.name = std::string(table.parameter_name()), .type = ValueType::choice, .meaning = std::move(meaning), .choices = table.names()};
}

std::vector<Parameter> share_parameters() {
  return {{.name = "fraction",
           .type = ValueType::fraction,
           .fallback = "1",
           .meaning = "C, the share of the clients that take part in a round",
           .range = Range::above_to(0, 1)},
          {.name = "clients",
           .type = ValueType::count,
           .meaning = "number of clients in a round; overrides fraction",
           .range = Range::at_least(1)}};
}

std::vector<Parameter> selection_parameters() {
  return {optional_choice(selection_choice,
                          "which clients are invited: uniform (default); by_samples: with probability proportional to their samples, and "
                          "contributions of equal weight; fastest_of: the fastest of d for each place"),
          {.name = "selection.d",
           .type = ValueType::count,
           .meaning = "of fastest_of: clients that are drawn for each place, default 2",
           .range = Range::between(1, 1e6)}};
}

std::vector<Parameter> round_parameters(const std::string& refused) {
  return {{.name = "deadline.time",
           .type = ValueType::time,
           .meaning = refused + "time after which a round is closed, even if clients are missing",
           .range = Range::above(0)},
          optional_choice(late_choice, refused + "drop (default): late contributions are wasted; partial: a client trains until the "
                                                 "deadline at most, and sends its finished steps"),
          {.name = "over_select",
           .meaning = refused + "factor on the number of invited clients; the first to answer count, the work of the others is wasted",
           .range = Range::between(1, 1e6)}};
}

void append(std::vector<Parameter>& to, std::vector<Parameter> more) {
  for (Parameter& parameter : more) to.push_back(std::move(parameter));
}

std::vector<Parameter> all_parameters(const std::string& refused) {
  std::vector<Parameter> all = share_parameters();
  append(all, FederatedRounds::local_parameters());
  append(all, round_parameters(refused));
  append(all, selection_parameters());
  return all;
}

}  // namespace

FederatedRounds::FederatedRounds(const Parameters& parameters)
    : fraction_(parameters.has("fraction") ? parameters.number("fraction") : 1),
      local_epochs_(parameters.count("local_epochs")),
      average_(parameters) {
  if (parameters.has("clients")) clients_ = parameters.count("clients");
  if (parameters.has("local_steps")) local_steps_ = parameters.count("local_steps");
  if (parameters.has("deadline.time"))
    deadline_ = Time::from_seconds(std::min(parameters.number("deadline.time"), Time::limit().seconds()));
  if (parameters.has("deadline.late")) partial_ = late_choice.of(parameters) == Late::partial;
  if (parameters.has("over_select")) over_select_ = parameters.number("over_select");
  waits_ = failure_choice.of(parameters) == OnFailure::wait;
  drawn_by_samples_ = selection(parameters).by == By::samples;
}

std::vector<Parameter> FederatedRounds::parameters(Average::By average) {
  std::vector<Parameter> all = all_parameters("");
  all.push_back(Average::parameter(average));
  return all;
}
std::vector<Parameter> FederatedRounds::parameters_without_rounds() { return all_parameters("refused here, where there are no rounds: "); }

void FederatedRounds::refuse_rounds(const Parameters& parameters) {
  for (const char* name : {"deadline.time", "over_select"})
    if (parameters.has(name))
      throw std::invalid_argument(std::string(name) +
                                  ": this scheme has no rounds, so no client can be late; remove it, or take a scheme with rounds: fedavg, "
                                  "fedprox, fednova, scaffold, feddyn, fedopt, hierarchical");
}

ClientSelection FederatedRounds::selection(const Parameters& parameters) {
  ClientSelection selection;
  if (parameters.has("selection.kind")) selection.by = selection_choice.of(parameters);
  if (selection.by == By::speed) selection.candidates = parameters.has("selection.d") ? parameters.count("selection.d") : 2;
  return selection;
}

std::vector<Parameter> FederatedRounds::local_parameters() {
  return {{.name = "local_epochs",
           .type = ValueType::count,
           .fallback = "1",
           .meaning = "E, passes over its own data that a client makes in a round",
           .range = Range::at_least(1)},
          {.name = "local_steps",
           .type = ValueType::count,
           .meaning = "batches that a client takes in a round; overrides local_epochs",
           .range = Range::at_least(1)}};
}

std::optional<double> FederatedRounds::per_epoch(const TrainingPlan& plan) const {
  if (deadline_) return std::nullopt;
  double samples = 0;  // of a round of all clients
  for (Rank worker = 0; worker < plan.workers; ++worker)
    samples += local_steps_ ? static_cast<double>(*local_steps_ * plan.batch_of(worker))
                            : static_cast<double>(plan.drawn_of(worker, plan.part_samples(worker))) * static_cast<double>(local_epochs_);
  return static_cast<double>(plan.epoch_samples) / (static_cast<double>(clients_of(plan.workers)) / plan.workers * samples);
}

namespace {
bool nobody_is_in(const Node& node) {
  for (Rank rank = 0; rank < node.workers(); ++rank)
    if (node.is_member(rank)) return false;
  return true;
}
}  // namespace

bool FederatedRounds::takes_part(const Node& node, Weights& weights) const {
  if (keeps_account(node)) {
    if (!begins(node, {0, node.workers()})) return false;
  } else {
    const auto clients = sampled(node, weights->version);
    if (!std::binary_search(clients->begin(), clients->end(), node.self())) return false;
  }
  weights = with_participants(std::move(weights), clients_of(node.workers()));
  return true;
}

bool FederatedRounds::begins(const Node& node, Node::Pool pool) const {
  const std::uint32_t life = node.present(node.self()).life;
  if (life != 0 && life != Peer::any_life) return false;
  const auto first = node.first_clients(pool, invited_of(pool.count));
  return std::binary_search(first->begin(), first->end(), node.self());
}

Task<std::vector<Weights>> FederatedRounds::of_those_sampled(Node& node, Weights weights) const {
  const std::vector<Rank> first = *sampled(node, weights->version);  // if one of them comes back, it takes part by itself
  std::vector<Weights> parts = co_await gather<Weights>(node, weights->version, first, GatherUntil::nobody_left);
  while (parts.empty()) {
    std::vector<Rank> others;
    for (Rank rank = 0; rank < node.workers(); ++rank)
      if (node.is_member(rank) && !std::binary_search(first.begin(), first.end(), rank)) others.push_back(rank);
    node.broadcast(weights, others);
    std::vector<Rank> asked = first;
    asked.insert(asked.end(), others.begin(), others.end());
    parts = co_await gather<Weights>(node, weights->version, asked, GatherUntil::first_lives);
    if (parts.empty() && nobody_is_in(node)) co_await node.receive<MembershipNotice>();
  }
  co_return parts;
}

FederatedRounds::Server::Server(const FederatedRounds& rounds, Node& node, Node::Pool pool, bool always_keeps_account)
    : rounds_(rounds),
      node_(node),
      pool_(pool),
      keeps_account_(always_keeps_account || rounds.keeps_account(node)),
      whole_(pool.count == node.workers() && node.is_server()),
      busy_(node) {
  if (node.plan().clients_keep_vectors) enrolled_ = enrolled();
}

double FederatedRounds::Server::enrolled() const {
  const Backend& backend = node_.backend();
  if (!rounds_.by_samples()) return std::max<Rank>(backend.enrolled(), 1);
  double all = 0;
  for (Rank client = 0; client < node_.workers(); ++client)
    if (backend.is_enrolled(client)) all += rounds_.count(node_, client);
  return std::max(all, 1.0);
}

void FederatedRounds::Server::note_invited(const std::vector<Rank>& ranks) {
  for (const Rank rank : ranks) busy_.add(rank);
  awaited_ = std::set<Rank>(ranks.begin(), ranks.end());
  wanted_ = std::min(static_cast<std::size_t>(rounds_.clients_of(pool_.count)), ranks.size());
}

/// Where the account is kept for their vectors' sake alone, clients that are down are awaited as in rounds without one.
bool FederatedRounds::Server::may_invite(Rank rank) const {
  return busy_.may_train(rank) ||
         (!rounds_.may_miss(node_) && rounds_.must_tell_what_counted(node_) && !busy_.contains(rank) && node_.awaits(rank));
}

void FederatedRounds::Server::send_invitations(const Weights& weights, std::span<const Rank> ranks) const {
  if (!node_.plan().clients_keep_vectors) return node_.broadcast(weights, ranks);
  std::map<std::uint64_t, Weights> told;  // those with the same word share one state
  for (const Rank& rank : ranks) {
    const auto [invitation, is_new] = told.try_emplace(counted(rank), weights);
    if (is_new) invitation->second.edit().more.edit().about_kept.edit().counted = invitation->first;
    node_.broadcast(invitation->second, std::span(&rank, 1));
  }
}

bool FederatedRounds::Server::draw_and_invite(const Weights& weights) {
  for (const Rank rank : busy_.lost()) busy_.remove(rank);
  const std::vector<Rank> ranks =
      node_.draw_clients(pool_, rounds_.invited_of(pool_.count), draws_++, [this](Rank rank) { return may_invite(rank); });
  note_invited(ranks);
  send_invitations(weights, ranks);
  return !ranks.empty();
}

void FederatedRounds::Server::invite(const Weights& weights) {
  if (keeps_account_) {
    draw_and_invite(weights);
    return;
  }
  const auto ranks = rounds_.sampled(node_, weights->version);
  node_.broadcast(weights, *ranks);
}

Task<std::vector<Weights>> FederatedRounds::Server::contributions(Weights weights) {
  return keeps_account_ ? of_those_invited(std::move(weights)) : rounds_.of_those_sampled(node_, std::move(weights));
}

/// A client that crashed is asked again when it is back, where the others wait for it.
void FederatedRounds::Server::forget_lost(const Weights& weights) {
  for (const Rank rank : busy_.lost()) {
    if (rounds_.waits_ && !node_.plan().clients_come_and_go && awaited_.contains(rank) && node_.awaits(rank)) {
      if (!node_.is_member(rank)) continue;
      busy_.add(rank);
      send_invitations(weights, std::span(&rank, 1));
      continue;
    }
    busy_.remove(rank);
    awaited_.erase(rank);
  }
}

bool FederatedRounds::Server::is_awaited(const From<Weights>& part, const Weights& weights) const {
  return part->version == weights->version && part->progress == weights->progress && awaited_.contains(part.sender.rank);
}

void FederatedRounds::Server::note_round(bool empty) {
  if (!empty) empty_rounds_ = 0;
  if (empty && (wanted_ > 0 || busy_.count() > 0)) ++empty_rounds_;  // some client was invited
  if (empty_rounds_ == most_empty_rounds)
    throw UnsupportedOperation("nobody answered in " + std::to_string(most_empty_rounds) +
                               " rounds, one after another, within deadline.time, " + readable_seconds(rounds_.deadline_->seconds()) +
                               "; write a longer time, or late: partial");
}

Task<std::vector<Weights>> FederatedRounds::Server::of_those_invited(Weights weights) {
  std::optional<Pending<TimerOperation>> timer;
  if (rounds_.deadline_ && !rounds_.partial_) timer.emplace(node_.begin(node_.timer(*rounds_.deadline_)));
  if (draws_ == 0) {
    note_invited(*node_.first_clients(pool_, rounds_.invited_of(pool_.count)));
    ++draws_;
  }
  std::vector<From<Weights>> parts;
  bool answered = false;  // by a client of this round, even without a step
  forget_lost(weights);
  for (;;) {
    if (wanted_ > 0 && parts.size() >= wanted_) break;
    if (awaited_.empty()) {
      if (answered) break;
      // All clients of this round are lost, or there was none to invite.
      if (!draw_and_invite(weights)) {
        if (!timer && !whole_ && busy_.count() == 0) break;
        if (node_.plan().clients_come_and_go) node_.backend().await_comers();
      }
    }
    std::optional<From<Weights>> arrived;
    if (timer) {
      auto first = co_await first_of_in_flight(*timer, node_.arrival<Weights>());
      if (first.index() == 0) break;
      arrived = std::get<1>(std::move(first));
    } else {
      arrived = co_await node_.arrival<Weights>();
    }
    if (!arrived) {
      forget_lost(weights);
      continue;
    }
    if (const KeptVector* const left = (*arrived)->kept()) {
      if (const Handle& vector = left->after(counted(arrived->sender.rank)); !vector.empty())
        left_.push_back({vector, rounds_.count(node_, arrived->sender.rank)});
      counted_.erase(arrived->sender.rank);
      continue;
    }
    busy_.remove(arrived->sender.rank);
    const bool awaited = is_awaited(*arrived, weights);
    answered = answered || awaited;
    awaited_.erase(arrived->sender.rank);
    if (!awaited || (*arrived)->made().empty() || (*arrived)->made().front().steps == 0) {
      node_.discard<Weights>(*arrived);
      continue;
    }
    if (node_.plan().clients_keep_vectors) counted_[arrived->sender.rank] = weights->version;
    parts.push_back(std::move(*arrived));
  }
  note_round(parts.empty());
  std::sort(parts.begin(), parts.end(), [](const From<Weights>& a, const From<Weights>& b) { return a.sender.rank < b.sender.rank; });
  co_return payloads(parts);
}

Weights FederatedRounds::mean(const Node& node, const std::vector<Weights>& parts) const {
  const Algebra& algebra = node.algebra();
  return by_samples() ? algebra.weighted_mean(parts, Average::shares(counts(node, parts))) : algebra.mean(parts);
}

}  // namespace straggler
