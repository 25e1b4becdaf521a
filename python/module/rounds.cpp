#include "python/module/rounds.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace straggler::python {

namespace {

/// An aggregator's group, or all workers.
Node::Pool pool_of(const Node& node) {
  if (!node.is_aggregator()) return {0, node.workers()};
  const std::vector<Rank> group = node.group();
  return {group.front(), static_cast<Rank>(group.size())};
}

}  // namespace

FederatedRounds round_rules(const Parameters& parameters) {
  Parameters used;
  for (const auto& [name, value] : parameters.all()) {
    const bool whole = name == "local_epochs" || name == "local_steps", time = name == "deadline.time";
    const bool number = time || name == "deadline.adaptive" || name == "over_select";
    const bool text = name == "deadline.late" || name == "on_failure";
    if (!whole && !number && !text) continue;
    const bool is_whole = std::holds_alternative<std::int64_t>(value);
    if (whole ? !is_whole : number ? !is_whole && !std::holds_alternative<double>(value) : !std::holds_alternative<std::string>(value))
      throw std::invalid_argument(name + " is a parameter of rounds (node.round): declare it as " +
                                  (whole    ? "a count"
                                   : time   ? "a time"
                                   : number ? "a number"
                                            : "a choice of drop and partial") +
                                  ", or choose another name");
    used.set(name, value);
  }
  return FederatedRounds(used);
}

Rounds::Rounds(Node& node, const FederatedRounds& rules)
    : node_(node),
      rules_(rules),
      clients_(rules_, node, pool_of(node),
               node.is_server() && node.plan().invited ? ClientRounds::First::by_themselves : ClientRounds::First::invited) {
  if (node.plan().clients_keep_vectors)
    throw std::invalid_argument(
        "node.round does not hand over the vectors of clients that leave; with clients_keep_vectors=True make rounds by node.draw_clients, "
        "node.with_counted and node.left_by");
}

Task<std::vector<Weights>> Rounds::round(const Weights& weights, Clients clients) {
  const Node::Pool pool = pool_of(node_);
  const std::optional<std::int64_t> begin = node_.is_server() ? node_.plan().invited : std::nullopt;
  const bool first = std::exchange(first_, false);
  if (auto* const ranks = std::get_if<std::vector<Rank>>(&clients)) {
    std::ranges::sort(*ranks);
    if (ranks->empty()) throw std::invalid_argument("a round has no clients; give their number, or a list of ranks");
    if (std::ranges::adjacent_find(*ranks) != ranks->end()) throw std::invalid_argument("a client is twice in the list of a round");
    if (ranks->front() < pool.first || ranks->back() >= pool.first + pool.count)
      throw std::invalid_argument("a client of the round is no worker of " + node_.name() + "; its workers are " +
                                  std::to_string(pool.first) + " to " + std::to_string(pool.first + pool.count - 1));
    if (first && begin)
      throw std::invalid_argument(
          "the first clients begin by themselves, as invited=… in @straggler.scheme says; give their number in the first round, or leave "
          "invited out");
    return clients_.round(with_participants(weights, static_cast<std::int64_t>(ranks->size())), std::move(*ranks));
  }
  const std::int64_t count = std::get<std::int64_t>(clients);
  if (count < 1) throw std::invalid_argument("a round has at least one client");
  rules_.set_clients(count);
  if (first && begin && *begin != rules_.invited_of(pool.count))
    throw std::invalid_argument("the first round invites " + std::to_string(rules_.invited_of(pool.count)) +
                                " clients, but invited=… in @straggler.scheme is " + std::to_string(*begin) + "; make them equal");
  return clients_.round(with_participants(weights, rules_.clients_of(pool.count)));
}

Task<Weights> invitation(Node& node, const FederatedRounds& rules, std::optional<std::int64_t> clients, bool first) {
  const std::optional<std::int64_t>& begin = node.plan().invited;
  if (first && begin && begins_by_itself(node, {0, node.workers()}, *begin)) {
    FederatedRounds own = rules;
    own.set_clients(clients.value_or(*begin));
    co_return own.initial_weights(node);
  }
  const Rank from = node.aggregators() > 0 ? node.aggregator() : node.server();
  co_return co_await node.receive<Weights>(from);
}

}  // namespace straggler::python
