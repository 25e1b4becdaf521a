#include "sim/training/node.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "sim/base/random.hpp"

namespace straggler {

namespace {

/// The first `count` of a Fisher-Yates shuffle of 0..n-1 for which `may` holds, in the order of drawing. Only places that were swapped are
/// kept: time and memory go with the number of draws.
template <class May>
std::vector<Rank> sample(std::size_t count, std::size_t n, RandomStream draws, May may) {
  std::unordered_map<std::size_t, Rank> moved;  // the rank at each place whose content was replaced
  const auto at = [&moved](std::size_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? static_cast<Rank>(i) : found->second;
  };
  std::vector<Rank> ranks;
  ranks.reserve(count);
  for (std::size_t i = 0; i < n && ranks.size() < count; ++i) {
    const std::size_t j = i + draws.below(n - i);
    if (const Rank drawn = at(j); may(drawn)) ranks.push_back(drawn);
    moved[j] = at(i);
    moved.erase(i);  // this place is not looked at again
  }
  return ranks;
}

/// `count` of `pool` for which `may` holds, one after another, each in proportion to the samples of those that are left.
std::vector<Rank> sample_by_samples(const TrainingPlan& plan, Node::Pool pool, std::size_t count, RandomStream draws,
                                    const std::function<bool(Rank)>& may) {
  std::vector<std::uint64_t> up_to;  // [pool] samples of the workers up to this one
  std::uint64_t all = 0;
  for (Rank i = 0; i < pool.count; ++i) up_to.push_back(all += plan.part_samples(pool.first + i));
  std::vector<Rank> ranks;
  std::unordered_map<Rank, bool> seen;  // true: it may be drawn no more
  for (std::size_t tries = 0; ranks.size() < count && all > 0 && tries < 20 * count + 1000; ++tries) {
    const Rank drawn = pool.first + static_cast<Rank>(std::upper_bound(up_to.begin(), up_to.end(), draws.below(all)) - up_to.begin());
    if (!seen.try_emplace(drawn, true).second || !may(drawn)) continue;
    ranks.push_back(drawn);
  }
  // Few workers are left, or they have few samples: draw among exactly those.
  std::vector<Rank> left;
  if (ranks.size() < count)
    for (Rank rank = pool.first; rank < pool.first + pool.count; ++rank)
      if (!seen.contains(rank) && may(rank)) left.push_back(rank);
  while (ranks.size() < count && !left.empty()) {
    std::uint64_t rest = 0;
    for (const Rank rank : left) rest += plan.part_samples(rank);
    std::size_t i = 0;
    if (rest == 0)
      i = draws.below(left.size());
    else
      for (std::uint64_t at = draws.below(rest); at >= plan.part_samples(left[i]); ++i) at -= plan.part_samples(left[i]);
    ranks.push_back(left[i]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ranks;
}

RandomStream stream_of_round(const TrainingPlan& plan, Node::Pool pool, std::uint64_t round) {
  if (pool.first == 0 && pool.count == plan.workers) return RandomStream(plan.seed, "server/sampled workers", round);
  return RandomStream(plan.seed, "aggregator/" + std::to_string(pool.first) + "/sampled workers", round);
}

}  // namespace

std::shared_ptr<const std::vector<Rank>> Node::sample_workers(std::int64_t count, std::uint64_t round) const {
  auto& [last, before] = context_.sampled;
  const auto is_it = [&](const NodeContext::SampledWorkers& drawn) { return drawn.ranks && drawn.count == count && drawn.round == round; };
  if (is_it(last)) return last.ranks;
  std::swap(last, before);
  if (is_it(last)) return last.ranks;
  std::vector<Rank> ranks = draw_clients({0, workers()}, count, round, {});
  last = {count, round, std::make_shared<const std::vector<Rank>>(std::move(ranks))};
  return last.ranks;
}

std::vector<Rank> Node::draw_clients(Pool pool, std::int64_t count, std::uint64_t round, const std::function<bool(Rank)>& may) const {
  std::vector<Rank> ranks;
  if (count >= pool.count) {
    for (Rank rank = pool.first; rank < pool.first + pool.count; ++rank)
      if (!may || may(rank)) ranks.push_back(rank);
    return ranks;
  }
  const auto wanted = static_cast<std::size_t>(count), all = static_cast<std::size_t>(pool.count);
  const RandomStream draws = stream_of_round(plan(), pool, round);
  const auto allowed = [&](Rank i) { return !may || may(pool.first + i); };
  const ClientSelection& selection = plan().selection;
  if (selection.by == ClientSelection::By::samples) {
    ranks = sample_by_samples(plan(), pool, wanted, draws, [&](Rank rank) { return !may || may(rank); });
  } else {
    const bool by_speed = selection.by == ClientSelection::By::speed;
    const std::size_t candidates = by_speed ? wanted * static_cast<std::size_t>(selection.candidates) : wanted;
    ranks = sample(std::min(candidates, all), all, draws, allowed);
    for (Rank& rank : ranks) rank += pool.first;
    const std::vector<float>& seconds = plan().client_seconds;
    if (by_speed && !seconds.empty())
      std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return seconds[index_of(a)] < seconds[index_of(b)]; });
    ranks.resize(std::min(ranks.size(), wanted));
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::shared_ptr<const std::vector<Rank>> Node::first_clients(Pool pool, std::int64_t count) const {
  if (!plan().clients_come_and_go && pool.count == workers()) return sample_workers(count, 0);
  std::shared_ptr<const std::vector<Rank>>& known = context_.first_clients[pool.first];
  if (!known) {
    const auto present = [this](Rank rank) { return is_member(rank); };
    known = std::make_shared<const std::vector<Rank>>(draw_clients(pool, count, 0, present));
  }
  return known;
}

std::vector<Rank> Node::group() const {
  const Aggregation& all = plan().aggregation;
  const std::size_t number = index_of(is_worker() ? all.number_of(self_) : self_ - all.first_rank);
  std::vector<Rank> ranks(index_of(all.first_worker[number + 1] - all.first_worker[number]));
  std::iota(ranks.begin(), ranks.end(), all.first_worker[number]);
  return ranks;
}

DrawnBatch Node::next_batch(std::int64_t samples) {
  const DrawnBatch batch = draw(self_, own_, samples, true);
  last_position_ = batch.position;
  return batch;
}

DrawnBatch Node::more_of_batch(std::int64_t samples) {
  const DrawnBatch batch = draw(self_, own_, samples, false);
  last_position_ = batch.position;
  return batch;
}

DrawnBatch Node::next_batch_of(Rank worker, Drawing& drawing, std::int64_t samples) {
  const DrawnBatch batch = draw(worker, drawing, samples, true);
  own_.work += batch.size;
  return batch;
}

/// Which samples of the pool that all workers share this worker draws is decided by timing, so it is recorded: as the number of samples
/// between the end of its last draw, `own_end`, and this one. A replay forces it. A larger number than fits takes several.
void Node::place_in_pool(std::uint64_t own_end) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  SampleStream& pool = context_.shared_stream;
  std::int32_t forced = backend().forced_draw(self_);
  if (forced >= 0) {
    pool.position = own_end + static_cast<std::uint64_t>(forced);
    while (forced == most && (forced = backend().forced_draw(self_)) >= 0) pool.position += static_cast<std::uint64_t>(forced);
  }
  std::uint64_t distance = pool.position - own_end;
  for (; distance >= static_cast<std::uint64_t>(most); distance -= static_cast<std::uint64_t>(most)) backend().drawn(self_, most);
  backend().drawn(self_, static_cast<std::int32_t>(distance));
}

/// `begins`: it is a new batch; otherwise a part of the worker's latest one.
DrawnBatch Node::draw(Rank worker, Drawing& drawing, std::int64_t samples, bool begins) {
  const bool pool = plan().shared_stream;
  const std::uint64_t epoch = pool ? plan().train_samples : plan().stream_samples[static_cast<std::size_t>(worker)];
  const bool contended = pool && is_worker() && workers() > 1;
  SampleStream& stream = pool && is_worker() ? context_.shared_stream : drawing.stream;
  const std::uint64_t drawn_by_all = stream.position;
  const std::uint64_t pass = plan().drop_last && !plan().endless ? plan().pass_samples(worker) : epoch;
  if (!plan().endless && stream.position % epoch >= pass) stream.position += epoch - stream.position % epoch;  // what drop_last leaves out
  if (contended) place_in_pool(drawing.stream.position);
  DrawnBatch batch;
  batch.position = stream.position;
  batch.stream = pool ? shared_stream : static_cast<std::uint32_t>(worker);
  const auto wanted = static_cast<std::uint64_t>(samples);
  batch.size = static_cast<std::uint32_t>(plan().endless ? wanted : std::min(wanted, pass - stream.position % epoch));
  if (begins) {
    ++drawing.batches;
    drawing.offset = 0;
  }
  batch.work = drawing.work;
  batch.number = drawing.batches - 1;
  batch.offset = drawing.offset;
  stream.position += batch.size;
  if (contended) {
    drawing.stream.position = stream.position;
    stream.position = std::max(stream.position, drawn_by_all);
  }
  drawing.work += batch.size;
  drawing.offset += batch.size;
  return batch;
}

SavedNode Node::saved(const Weights* published) const {
  SavedNode all;
  all.stream = own_.stream;
  all.last_position = last_position_;
  if (optimizer_) all.optimizer = optimizer_->state();
  if (!rare_) return all;
  all.kept = rare_->kept;
  if (rare_->codec) {
    auto codec = std::make_unique<MessageCodec>(*rare_->codec);
    if (published) codec->published(*published);
    all.codec = std::move(codec);
  }
  all.durable = rare_->durable.values();
  return all;
}

void Node::start_again(const SavedNode& saved, const Weights& weights) {
  own_.stream = saved.stream;
  last_position_ = saved.last_position;
  if (optimizer_ || !saved.optimizer.empty()) optimizer().state() = saved.optimizer;
  rare().kept = saved.kept;
  rare_->start = weights->version == 0 ? Weights() : weights;  // nobody is sent the initial weights
  rare_->codec = saved.codec ? std::make_unique<MessageCodec>(*saved.codec) : nullptr;
  rare_->durable.start_from(saved.durable);
  rare_->again = true;
  start_after_reductions(0);
}

Optimizer Node::outer_optimizer() const {
  if (!plan().outer_optimizer) throw std::logic_error("the scheme's entry names no outer optimizer");
  return Optimizer(*plan().outer_optimizer);
}

namespace {
std::string name_of_state(std::size_t k) { return "optimizer " + std::to_string(k); }
}  // namespace

void Node::attach_optimizer(Weights& weights) const {
  AttachedVectors& attached = weights.edit().more.edit().attached;
  attached.clear();
  if (!optimizer_) return;
  for (std::size_t k = 0; k < optimizer_->state().size(); ++k) attached.push_back({name_of_state(k), optimizer_->state()[k]});
}

void Node::adopt_optimizer(const Weights& weights) {
  optimizer().reset();
  for (std::size_t k = 0;; ++k) {
    const Handle state = find_attached(weights->attached(), name_of_state(k));
    if (state.empty()) return;
    optimizer().state().push_back(state);
  }
}

Gradient Node::no_gradient(const Weights& weights) const {
  Gradient none;
  GradientState& state = none.edit();
  state.at = weights;
  state.worker = self_;
  state.first_position = last_position_;
  return none;
}

Contribution Node::contribution_of(const WeightsState& weights) const {
  Contribution contribution;
  contribution.worker = self_;
  contribution.read_version = weights.version;
  contribution.first_position = last_position_;
  return contribution;
}

Weights Node::as_contribution(Weights weights) const {
  if (is_worker() && weights->made().empty()) {
    WeightsState& state = weights.edit();
    state.more.edit().made.push_back(contribution_of(state));
  }
  return weights;
}

}  // namespace straggler
