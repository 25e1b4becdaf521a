#include "sim/schemes/federated.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "sim/training/momentum_at_sync.hpp"

namespace straggler {

namespace {

enum class Late { drop, partial };
constexpr ChoiceTable<Late> late_choice("deadline.late", {{Late::drop, "drop"}, {Late::partial, "partial"}});
using By = ClientSelection::By;
constexpr ChoiceTable<By> selection_choice("selection.kind",
                                           {{By::chance, "uniform"}, {By::samples, "by_samples"}, {By::speed, "fastest_of"}});

template <class Enumerator>
Parameter optional_choice(const ChoiceTable<Enumerator>& table, std::string meaning) {
  return {.name = std::string(table.parameter_name()), .type = ValueType::choice, .meaning = std::move(meaning), .choices = table.names()};
}

/// `refused`: before the meaning of parameters of rounds.
std::vector<Parameter> all_parameters(const std::string& refused) {
  return {{.name = "fraction",
           .type = ValueType::fraction,
           .fallback = "1",
           .meaning = "C, the share of the clients that take part in a round",
           .range = Range::above_to(0, 1)},
          optional_count("clients", "number of clients in a round; overrides fraction"),
          count_or("local_epochs", "1", "E, passes over its own data that a client makes in a round"),
          optional_count("local_steps", "batches on which a client trains in a round; overrides local_epochs"),
          DeadlineChoice::time_parameter(refused),
          DeadlineChoice::adaptive_parameter(refused.empty() ? "instead, with a factor " : refused),
          optional_choice(late_choice, refused + "drop (default): late contributions are wasted; partial: a client trains until the "
                                                 "deadline at most, and sends its finished steps"),
          {.name = "over_select",
           .meaning = refused + "factor on the number of invited clients; the first to answer count, the work of the others is wasted",
           .range = Range::between(1, 1e6)},
          optional_choice(selection_choice,
                          "which clients are invited: uniform (default); by_samples: with probability proportional to their samples, and "
                          "contributions of equal weight; fastest_of: the fastest of d for each place"),
          optional_count("selection.d", "of fastest_of: clients that are drawn for each place, default 2", Range::between(1, 1e6))};
}

}  // namespace

FederatedRounds::FederatedRounds(const Parameters& parameters)
    : fraction_(parameters.has("fraction") ? parameters.number("fraction") : 1),
      local_epochs_(parameters.has("local_epochs") ? parameters.count("local_epochs") : 1),
      deadline_(parameters),
      average_(parameters) {
  if (parameters.has("clients")) clients_ = parameters.count("clients");
  if (parameters.has("local_steps")) local_steps_ = parameters.count("local_steps");
  if (parameters.has("deadline.late")) partial_ = late_choice.of(parameters) == Late::partial;
  if (partial_ && deadline_.adaptive)
    throw std::invalid_argument(
        "deadline: late: partial needs a time that clients know; write deadline: {time: 100ms, late: partial}, or "
        "late: drop");
  if (parameters.has("over_select")) over_select_ = parameters.number("over_select");
  waits_ = failure_choice.of(parameters) == OnFailure::wait;
  drawn_by_samples_ = selection(parameters).by == By::samples;
}

std::vector<Parameter> FederatedRounds::parameters(Average::By average, std::vector<Parameter> own) {
  std::vector<Parameter> all = all_parameters("");
  all.push_back(Average::parameter(average));
  std::ranges::move(own, std::back_inserter(all));
  all.push_back(on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "close the round without it, wait for it, or end"));
  return all;
}

std::vector<Parameter> FederatedRounds::parameters_without_rounds(std::vector<Parameter> own) {
  std::vector<Parameter> all = all_parameters("refused here, where there are no rounds: ");
  std::ranges::move(own, std::back_inserter(all));
  all.push_back(on_failure({OnFailure::drop, OnFailure::abort}, "another client is invited in its place, or end"));
  return all;
}

void FederatedRounds::refuse_rounds(const Parameters& parameters) {
  for (const char* name : {"deadline.time", "deadline.adaptive", "over_select"})
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

std::optional<double> FederatedRounds::per_epoch(const TrainingPlan& plan) const {
  if (deadline_.exists()) return std::nullopt;
  double samples = 0;  // of a round of all clients
  for (Rank worker = 0; worker < plan.workers; ++worker)
    samples += local_steps_ ? static_cast<double>(*local_steps_ * plan.batch_of(worker))
                            : static_cast<double>(plan.drawn_of(worker, plan.part_samples(worker))) * static_cast<double>(local_epochs_);
  return static_cast<double>(plan.epoch_samples) / (static_cast<double>(clients_of(plan.workers)) / plan.workers * samples);
}

UpdateTraffic FederatedRounds::traffic(int vectors) {
  return {.text = std::to_string(vectors) + " c d, of c clients",
          .bytes = [vectors](const Parameters& parameters, const TrainingPlan& plan) {
            const FederatedRounds rounds(parameters);
            if (rounds.deadline_.exists() || rounds.over_select_ > 1) return std::optional<UpdateBytes>();
            const auto clients = static_cast<double>(rounds.clients_of(plan.workers));
            return std::optional<UpdateBytes>({vectors * clients, static_cast<double>(vectors)});
          }};
}

bool FederatedRounds::takes_part(const Node& node, Weights& weights) const {
  if (!begins_by_itself(node, {0, node.workers()}, invited_of(node.workers()))) return false;
  weights = with_participants(std::move(weights), clients_of(node.workers()));
  return true;
}

Weights FederatedRounds::mean(const Node& node, const std::vector<Weights>& parts) const {
  const Algebra& algebra = node.algebra();
  return by_samples() ? algebra.weighted_mean(parts, Average::shares(counts(node, parts))) : algebra.mean(parts);
}

/// The batches of one client in one round.
class FederatedRounds::LocalBatches {
 public:
  LocalBatches(Node& node, const FederatedRounds& rounds)
      : node_(node), epochs_(rounds.local_epochs_), steps_(rounds.local_steps_.value_or(0)) {}
  std::optional<DrawnBatch> next() {
    if (steps_ > 0) return done_ < steps_ ? (++done_, std::optional(node_.next_batch(node_.batch_size()))) : std::nullopt;
    const std::uint64_t pass = node_.plan().drawn_of(node_.self(), node_.part_samples(node_.self()));
    if (seen_ >= pass) {
      seen_ = 0;
      ++done_;
    }
    if (done_ == epochs_) return std::nullopt;
    const DrawnBatch batch = node_.next_batch(static_cast<std::int64_t>(std::min<std::uint64_t>(node_.batch_size(), pass - seen_)));
    seen_ += batch.size;
    return batch;
  }

 private:
  Node& node_;
  std::int64_t epochs_, steps_, done_ = 0;  // steps: 0 where passes count
  std::uint64_t seen_ = 0;                  // samples of this pass
};

namespace {

/// None: the timer was first. A frame of its own, which only clients with a deadline need.
Task<std::optional<Gradient>> gradient_before(Pending<TimerOperation>& timer, Node& node, const Weights& weights, const DrawnBatch& batch) {
  auto first = co_await first_of_in_flight(timer, node.gradient(weights, batch));
  if (first.index() == 0) co_return std::nullopt;
  co_return std::get<1>(std::move(first));
}

}  // namespace

Task<Weights> FederatedRounds::train_locally(Node& node, Weights weights, const Direction* direction) const {
  std::unique_ptr<Pending<TimerOperation>> timer;
  if (deadline_.time && partial_) timer = std::make_unique<Pending<TimerOperation>>(node.begin(node.timer(*deadline_.time)));
  LocalBatches batches(node, *this);
  while (const std::optional<DrawnBatch> batch = batches.next()) {
    std::optional<Gradient> gradient;
    if (timer)
      gradient = co_await gradient_before(*timer, node, weights, *batch);
    else
      gradient = co_await node.gradient(weights, *batch);
    if (!gradient) break;
    if (direction) gradient = (*direction)(weights, *gradient);
    weights = co_await node.step(weights, *gradient);
  }
  co_return weights;
}

namespace {

constexpr std::size_t client_bytes = 2'200;  // measured: with the frame of its local training

}  // namespace

SchemeEntry round_entry(SchemeEntry entry, int vectors) {
  entry.traffic = MomentumAtSync::traffic(FederatedRounds::traffic(vectors));
  entry.picture = {{"clients", "3"}, {"local_steps", "2"}};
  // Clients that keep vectors make up for who is drawn.
  if (!entry.clients_keep_vectors) entry.average = FederatedRounds::average;
  entry.updates_per_epoch = [](const Parameters& parameters, const TrainingPlan& plan) {
    return FederatedRounds(parameters).per_epoch(plan);
  };
  entry.invited = [](const Parameters& parameters, const TrainingPlan& plan) {
    return std::optional(FederatedRounds(parameters).invited_of(plan.workers));
  };
  entry.selection = FederatedRounds::selection;
  entry.worker_bytes = std::max(entry.worker_bytes, client_bytes);
  return entry;
}

SchemeEntry concurrent_entry(SchemeEntry entry, std::function<std::int64_t(const Parameters&, Rank)> clients) {
  entry.make = [make = std::move(entry.make)](const Parameters& parameters) {
    FederatedRounds::refuse_rounds(parameters);
    return make(parameters);
  };
  entry.updates_per_epoch = [count = entry.contributions.count](const Parameters& parameters, const TrainingPlan& plan) {
    const FederatedRounds rounds(parameters);
    return *rounds.per_epoch(plan) * static_cast<double>(rounds.clients_of(plan.workers)) / *count(parameters, plan);
  };
  entry.invited = [clients = std::move(clients)](const Parameters& parameters, const TrainingPlan& plan) {
    return std::optional(clients(parameters, plan.workers));
  };
  entry.selection = FederatedRounds::selection;
  entry.worker_bytes = std::max(entry.worker_bytes, client_bytes);
  return entry;
}

}  // namespace straggler
