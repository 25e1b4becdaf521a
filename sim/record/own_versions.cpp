#include "sim/record/own_versions.hpp"

#include <algorithm>

namespace straggler {

OwnVersions::OwnVersions(Versions rule, Rank workers, const Weights& initial)
    : rule_(rule), workers_(static_cast<std::size_t>(workers)), latest_(initial), missing_(workers_.size()) {
  for (Worker& worker : workers_) worker.current = initial;
}

void OwnVersions::publish(Rank rank, const Weights& weights, const Contributions& made, Time when) {
  Worker& worker = of(rank);
  if (is_missing(worker)) --missing_;
  worker.published = weights->version;
  worker.current = weights;
  worker.waiting.push_back({weights, made, when});
  if (is_missing(worker)) ++missing_;
  highest_ = std::max(highest_, worker.published);
  if (rule_ == Versions::free_running) order_.push_back(rank);
}

void OwnVersions::went(Rank rank) {
  Worker& worker = of(rank);
  worker.in = false;
  if (std::any_of(workers_.begin(), workers_.end(), [](const Worker& each) { return each.in; })) worker.current = Weights();
  count_missing();
}

Weights OwnVersions::comes(Rank rank, Weights weights) {
  Worker& worker = of(rank);
  WeightsState& state = weights.edit();
  if (rule_ == Versions::lockstep) state.version = ++highest_;
  worker.first = worker.published = state.version;
  worker.counted = latest_->version;
  worker.in = true;
  worker.current = weights;
  count_missing();
  return weights;
}

std::vector<Weights> OwnVersions::current() const {
  std::vector<Weights> all;
  const bool any = std::any_of(workers_.begin(), workers_.end(), [](const Worker& each) { return each.in; });
  for (const Worker& worker : workers_)
    if (any ? worker.in : !worker.current->value.empty()) all.push_back(worker.current);
  return all;
}

void OwnVersions::count_missing() {
  missing_ =
      static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [this](const Worker& each) { return is_missing(each); }));
}

std::optional<OwnVersions::Version> OwnVersions::next() { return rule_ == Versions::lockstep ? next_in_lockstep() : next_free(); }

std::optional<OwnVersions::Version> OwnVersions::next_in_lockstep() {
  while (missing_ == 0 && number_ < highest_) {
    ++number_;
    count_missing();
    Version version;
    for (Worker& worker : workers_)
      if (!worker.waiting.empty() && worker.waiting.front().weights->version == number_) add(version, worker);
    if (version.parts.empty()) continue;
    latest_.edit().version += 1;
    for (Contribution& made : version.made) made.read_version = latest_->version - 1;
    version.number = number_;
    version.weights = latest_;
    return version;
  }
  return std::nullopt;
}

std::optional<OwnVersions::Version> OwnVersions::next_free() {
  if (order_.empty()) return std::nullopt;
  Worker& worker = of(order_.front());
  order_.pop_front();
  Version version;
  version.number = worker.waiting.front().weights->version;
  add(version, worker);
  latest_.edit().version += 1;
  for (Contribution& made : version.made) made.read_version = worker.counted;
  worker.counted = latest_->version;
  version.weights = latest_;
  return version;
}

void OwnVersions::add(Version& version, Worker& worker) {
  Publication& publication = worker.waiting.front();
  for (const Contribution& made : publication.made) {
    latest_.edit().progress += made.samples;
    version.made.push_back(made);
  }
  version.parts.push_back(std::move(publication.weights));
  version.when = std::max(version.when, publication.when);
  worker.waiting.erase(worker.waiting.begin());
  latest_.edit().value = Handle();
}

}  // namespace straggler
