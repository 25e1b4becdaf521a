#include "validation/mpi/rank_publications.hpp"

#include <stdexcept>

namespace straggler {

RankPublications::RankPublications(RankWorld& world, Node& node, RankPost& post, RankStop& stop)
    : world_(world),
      node_(node),
      stop_(stop),
      schedule_(world.task.evaluation),
      next_evaluation_(world.task.evaluation.every_time.value_or(Time::never())) {
  if (world.task.plan.versions != Versions::shared) own_.emplace(world, node, post, stop);
}

bool RankPublications::publish(const PublishOperation& operation) {
  const Weights& weights = operation.weights();
  world_.values.of(weights->value);
  const Time when = world_.now();
  if (stop_.exceeds_limit(when)) return false;
  if (own_) {
    own_->publish(operation, when);
    take_own();
    return !stop_.stopping();
  }
  if (world_.publishes()) keep(weights, operation.made(), when);
  if (stop_.is_last(weights)) {
    stop_.stop(when, world_.task.has_server);
    return false;
  }
  if (world_.publishes() && world_.task.go_on) world_.task.go_on(when, weights, node_.optimizer().state());
  return true;
}

void RankPublications::averaged(Rank teller, const Averaging& averaging) {
  if (!own_) return;
  own_->averaged(teller, averaging);
  take_own();
}

void RankPublications::told(Rank from, MessageKind kind, const Bytes& word) {
  if (!own_) throw std::logic_error("a message about a worker's own weights, where workers have none");
  if (kind == MessageKind::forget) return own_->forget(word);
  kind == MessageKind::averaged ? own_->averaged(from, word) : own_->published(from, word);
  take_own();
}

void RankPublications::take_own() {
  while (world_.publishes() && !own_over_) {
    const std::optional<OwnVersions::Version> version = own_->next();
    if (!version) return;
    own_over_ = stop_.is_late(version->when);
    if (own_over_) return;
    own_->keep(*version);
    keep(version->weights, version->made, version->when);
    own_over_ = stop_.is_last(version->weights);
    if (own_over_) stop_.stop(version->when);
  }
}

void RankPublications::keep(const Weights& weights, const Contributions& made, Time when) {
  if (skip_evaluations(when)) keep_last_ = true;  // the previous version was the latest then
  if (!publications_.empty() && !keep_last_) forget_last_value();
  publications_.push_back({when, weights, made});
  if (world_.task.published) world_.task.published(when, weights);
  keep_last_ = schedule_.due(weights->version, world_.epochs_of(weights));
}

void RankPublications::forget_last_value() {
  if (own_) return own_->forget(publications_.size() - 1);
  WeightsState& state = publications_.back().weights.edit();
  state.value = Handle(state.value.key());
}

bool RankPublications::skip_evaluations(Time until) {
  if (until < next_evaluation_) return false;
  while (next_evaluation_ <= until) next_evaluation_ += *world_.task.evaluation.every_time;
  return true;
}

void RankPublications::gather_own() {
  if (own_) own_->gather(publications_);
}

}  // namespace straggler
