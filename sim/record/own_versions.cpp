#include "sim/record/own_versions.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

OwnVersions::OwnVersions(Versions rule, Rank workers, const Weights& initial)
    : rule_(rule), workers_(static_cast<std::size_t>(workers)), latest_(initial), missing_(workers_.size()) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].current = workers_[i].counted = initial;
    workers_[i].holder = static_cast<Rank>(i);
  }
}

void OwnVersions::publish(Rank rank, const Weights& weights, const Contributions& made, Time when) {
  Worker& worker = of(rank);
  if (is_missing(worker)) --missing_;
  worker.published = weights->version;
  worker.current = weights;
  Publication& publication = worker.waiting.emplace_back();
  publication.weights = weights;
  publication.made = made;
  publication.when = when;
  publication.other = std::exchange(worker.averager, nobody);
  publication.number = worker.brought;
  if (is_missing(worker)) ++missing_;
  highest_ = std::max(highest_, worker.published);
  if (rule_ == Versions::free_running) order_.push_back(rank);
}

void OwnVersions::averaged(Rank teller, const Averaging& averaging) {
  Worker& worker = of(teller);
  worker.current = averaging.mixed;
  if (teller != averaging.at) {
    worker.averager = averaging.at;
    worker.brought = averaging.number;
    return;
  }
  Publication& average = worker.waiting.emplace_back();
  average.weights = averaging.mixed;
  average.average = true;
  average.other = averaging.with;
  average.number = averaging.number;
}

void OwnVersions::remove(Rank rank) {
  Worker& worker = of(rank);
  worker.in = false;
  worker.averager = nobody;
  forget_averages(rank);
  if (std::any_of(workers_.begin(), workers_.end(), [](const Worker& each) { return each.in; }))
    worker.current = worker.counted = Weights();
  count_missing();
}

/// Averages in this worker's log count for neither side any more. Averages with it in the others' logs count for them alone.
void OwnVersions::forget_averages(Rank rank) {
  std::vector<Publication>& log = of(rank).waiting;
  for (const Publication& each : log)
    if (each.average && each.other != nobody) of(each.other).mixed = each.number;
  std::erase_if(log, [](const Publication& each) { return each.average; });
  for (Publication& each : log) each.other = nobody;
  for (Worker& other : workers_)
    for (Publication& each : other.waiting)
      if (each.average && each.other == rank) each.other = nobody;
}

Weights OwnVersions::readmit(Rank rank, Weights weights) {
  Worker& worker = of(rank);
  WeightsState& state = weights.edit();
  if (rule_ == Versions::lockstep) state.version = ++highest_;
  worker.first = worker.published = state.version;
  gaps_.end(rank, worker.first);
  worker.counted_version = latest_->version;
  worker.in = true;
  worker.current = worker.counted = weights;
  worker.holder = rank;
  worker.mixed.reset();
  count_missing();
  return weights;
}

std::vector<OwnVersions::Part> OwnVersions::parts() const {
  std::vector<Part> all;
  const bool any = std::any_of(workers_.begin(), workers_.end(), [](const Worker& each) { return each.in; });
  for (const Worker& worker : workers_)
    if (any ? worker.in : !worker.counted->value.empty()) all.push_back({worker.counted, worker.holder});
  return all;
}

std::vector<Weights> OwnVersions::counted() const {
  std::vector<Weights> all;
  for (const Part& part : parts()) all.push_back(part.weights);
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

std::size_t OwnVersions::average_in(const Worker& worker, Rank with, std::uint64_t number) {
  for (std::size_t i = worker.waiting.size(); i-- > 0;)
    if (worker.waiting[i].average && worker.waiting[i].other == with && worker.waiting[i].number == number) return i;
  return worker.waiting.size();
}

/// The first publication of `maker` may make a version: all that went into it is known and counts, or will count with it.
bool OwnVersions::ready(const Worker& maker) const {
  const auto averages_ready = [this](const Worker& worker, std::size_t before) {
    for (std::size_t i = 0; i < before; ++i) {
      const Publication& each = worker.waiting[i];
      if (!each.average || (each.other != nobody && of(each.other).in && of(each.other).counted->version < each.number)) return false;
    }
    return true;
  };
  std::size_t own = 0;
  while (own < maker.waiting.size() && maker.waiting[own].average) ++own;
  if (own == maker.waiting.size() || !averages_ready(maker, own)) return false;
  const Publication& publication = maker.waiting[own];
  if (publication.other == nobody || maker.mixed == publication.number) return true;
  const Worker& averager = of(publication.other);
  const auto self = static_cast<Rank>(&maker - workers_.data());
  const std::size_t average = average_in(averager, self, publication.number);
  return average < averager.waiting.size() && averages_ready(averager, average + 1);
}

/// Of the next version; none: no publication is ready.
std::optional<Rank> OwnVersions::next_maker() {
  if (!forced_.empty()) {
    const Worker& maker = of(forced_.front());
    if (!maker.in && maker.waiting.empty() && !order_.empty())
      forced_.clear();
    else if (!ready(maker))
      return std::nullopt;
  }
  const auto made = forced_.empty() ? std::find_if(order_.begin(), order_.end(), [this](Rank rank) { return ready(of(rank)); })
                                    : std::find(order_.begin(), order_.end(), forced_.front());
  if (made == order_.end()) return std::nullopt;
  const Rank maker = *made;
  order_.erase(made);
  if (!forced_.empty()) forced_.pop_front();
  return maker;
}

void OwnVersions::count_averages(Worker& worker, std::size_t count) {
  const auto self = static_cast<Rank>(&worker - workers_.data());
  for (std::size_t i = 0; i < count; ++i) {
    const Publication& average = worker.waiting[i];
    if (worker.in) {
      worker.counted = average.weights;
      worker.holder = self;
    }
    if (average.other == nobody) continue;
    Worker& other = of(average.other);
    other.mixed = average.number;
    if (!other.in || other.counted->version != average.number) continue;
    other.counted.edit().value = average.weights->value;
    other.holder = self;
  }
  worker.waiting.erase(worker.waiting.begin(), worker.waiting.begin() + static_cast<std::ptrdiff_t>(count));
}

std::optional<OwnVersions::Version> OwnVersions::next_free() {
  const std::optional<Rank> maker = next_maker();
  if (!maker) return std::nullopt;
  Worker& worker = of(*maker);
  std::size_t averages = 0;
  while (worker.waiting[averages].average) ++averages;
  count_averages(worker, averages);
  const Publication& publication = worker.waiting.front();
  if (publication.other != nobody && worker.mixed != publication.number)
    count_averages(of(publication.other), average_in(of(publication.other), *maker, publication.number) + 1);
  if (worker.in) {
    worker.counted = publication.weights;
    worker.holder = *maker;
  }
  Version version;
  version.number = publication.weights->version;
  add(version, worker);
  version.when = last_ = std::max(last_, version.when);
  latest_.edit().version += 1;
  for (Contribution& made : version.made) made.read_version = worker.counted_version;
  worker.counted_version = latest_->version;
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
