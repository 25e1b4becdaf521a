#include "models/executor/graph_job.hpp"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

namespace straggler {
namespace {

/// Buffers that return to the pool unless they are kept.
class Buffers {
 public:
  explicit Buffers(Resources& resources) : resources_(resources) {}
  ~Buffers() {
    for (float* buffer : all_) resources_.give(buffer);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  void add(float* buffer) { all_.push_back(buffer); }
  const std::vector<float*>& all() const { return all_; }
  float* keep_first() {
    float* const first = all_.front();
    all_.erase(all_.begin());
    return first;
  }

 private:
  Resources& resources_;
  std::vector<float*> all_;
};

float* begin_or_throw(const LineageNode& node, Resources& resources) {
  float* const buffer = resources.begin(node, resources.scratch(0));
  if (!buffer) throw MemoryBudgetExceeded(resources.refusal());
  return buffer;
}

float* evaluate_lanes(const LineageNode& node, std::size_t lanes, const Arithmetic& arithmetic, Resources& resources) {
  Buffers buffers(resources);
  Scratch& scratch = resources.scratch(0);
  if (!arithmetic.sparse(node.formula, scratch.values)) lanes = 2;  // the sum, and the lane that is computed
  for (std::size_t lane = 0; lane < lanes; ++lane) buffers.add(begin_or_throw(node, resources));
  arithmetic.lanes_in_turn(node.formula, scratch.values, buffers.all(), scratch);
  return buffers.keep_first();
}

void compute(const LineageNode& node, const StepChain& chain, const Arithmetic& arithmetic, float* buffer, Scratch& scratch) {
  if (chain.weights)
    arithmetic.evaluate_and_step(node.formula, scratch.values, chain.step, buffer, scratch);
  else
    arithmetic.evaluate(node.formula, scratch.values, buffer, scratch);
}

void abandon(const LineageNode& node, const StepChain& chain, float* buffer, Resources& resources) {
  if (chain.weights)
    resources.abandon_step(buffer, chain);
  else
    resources.abandon(node, buffer);
}

}  // namespace

void evaluate_in_order(Plan& plan, const Arithmetic& arithmetic, Resources& resources) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    LineageNode& node = plan[i];
    float* buffer = nullptr;
    StepChain chain;
    if (const std::size_t lanes = arithmetic.lanes(node.formula); lanes > 1) {
      buffer = evaluate_lanes(node, lanes, arithmetic, resources);
    } else {
      buffer = begin_or_throw(node, resources);
      chain = resources.begin_step(plan, i, buffer);
      try {
        compute(node, chain, arithmetic, buffer, resources.scratch(0));
      } catch (...) {
        abandon(node, chain, buffer, resources);
        throw;
      }
    }
    plan.finish(i);
    if (chain.weights) {
      for (std::size_t rest = chain.length(); rest > 0; --rest) plan.finish(++i);
      resources.store_step(node, buffer, chain);
      continue;
    }
    resources.store(node, buffer, arithmetic.sparse(node.formula, resources.scratch(0).values));
  }
}

GraphJob::GraphJob(Plan& plan, const Arithmetic& arithmetic, Resources& resources, ThreadPool& pool, std::span<RemoteThread* const> remote,
                   NodePace& pace, ThreadChoice* choice)
    : plan_(plan), arithmetic_(arithmetic), resources_(resources), pool_(pool), remote_(remote), pace_(pace), choice_(choice) {
  const double now = seconds_now();
  pace_.resume(now);
  if (choice_ && !pace_.alone()) choice_->resume(now);
  plan_.connect();
  for (std::size_t i = 0; i < plan_.size(); ++i)
    if (plan_.waiting(i) == 0) add_ready(i);
}

GraphJob::~GraphJob() {
  for (const auto& [position, lanes] : lanes_)
    for (float* buffer : lanes.buffers)
      if (buffer) resources_.give(buffer);
  if (together_) abandon(plan_[together_->position], together_->chain, together_->buffer, resources_);
}

namespace {

template <class Item>
bool later(const Item& a, const Item& b) {
  return std::tie(a.position, a.lane) > std::tie(b.position, b.lane);
}

}  // namespace

void GraphJob::add_ready(std::size_t position) {
  const std::size_t lanes = arithmetic_.lanes(plan_[position].formula);
  for (std::size_t lane = 0; lane < lanes; ++lane) add_ready(Item{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(lane)});
  if (lanes > 1) lanes_[static_cast<std::uint32_t>(position)] = {std::vector<float*>(lanes)};
}

void GraphJob::add_ready(const Item& item) {
  ready_.push_back(item);
  std::push_heap(ready_.begin(), ready_.end(), later<Item>);
}

GraphJob::Item GraphJob::take_first() {
  std::pop_heap(ready_.begin(), ready_.end(), later<Item>);
  const Item item = ready_.back();
  ready_.pop_back();
  return item;
}

bool GraphJob::step(std::unique_lock<std::mutex>& lock, unsigned thread) noexcept {
  if (failure_) return false;
  if (thread >= pool_.computing()) {
    bool sent = true;
    ++active_;
    try {
      sent = send(lock, thread);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      failure_ = std::current_exception();
    }
    --active_;
    return sent;
  }
  if (together_ && help(lock, thread)) return true;
  if (ready_.empty()) return false;
  // If memory is short only the first ready node may run, alone: that is the plan's order, which needs the least memory.
  if (active_ > 0 && resources_.tight()) return false;
  float* buffer = nullptr;
  try {
    buffer = resources_.begin(plan_[ready_.front().position], resources_.scratch(thread));
    // A running step may yet free memory. A shared gradient may have replaced some of its weights: a thread that can help ends it first,
    // since to give up here and begin again would read these as the old ones.
    if (!buffer && (active_ > 0 || together_)) return false;
    if (!buffer) throw MemoryBudgetExceeded(resources_.refusal());
  } catch (...) {
    failure_ = std::current_exception();
    return true;
  }
  const StepChain chain = resources_.begin_step(plan_, ready_.front().position, buffer);
  const Item item = take_first();
  ++active_;
  try {
    if (!share(item, chain, buffer, thread)) evaluate(item, chain, buffer, lock, thread);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure_) failure_ = std::current_exception();
  }
  --active_;
  return true;
}

std::optional<GraphJob::Sent> GraphJob::choose_for(const RemoteThread& to) {
  // Those whose weights are there come first, then the earliest ones, but the last lanes.
  std::optional<Item> whole, lane;
  bool whole_is_there = false, lane_is_there = false;
  std::size_t wholes = 0;
  for (const Item& item : ready_) {
    const LineageNode& node = plan_[item.position];
    if (node.formula.kind != Formula::Kind::gradient || arithmetic_.sparse(node.formula, {})) continue;
    const NodeState& weights = resources_.states()[*node.inputs.front()];
    if (weights.place != ValuePlace::here || weights.sparse) continue;
    const bool is_there = to.holds(node.inputs.front()->key);
    const auto lanes = lanes_.find(item.position);
    if (lanes != lanes_.end() && (!lane || std::tie(is_there, item.lane) > std::tie(lane_is_there, lane->lane))) {
      lane = item;
      lane_is_there = is_there;
    }
    const auto is_its = [&](const Item& other) { return other.position == item.position; };
    if (item.lane > 0) continue;
    if (lanes != lanes_.end() && std::count_if(ready_.begin(), ready_.end(), is_its) < std::ssize(lanes->second.buffers)) continue;
    ++wholes;
    if (whole && (is_there < whole_is_there || (is_there == whole_is_there && item.position > whole->position))) continue;
    whole = item;
    whole_is_there = is_there;
  }
  if (whole && (wholes > 1 || !lane)) return Sent{*whole, PlannedChain(plan_, whole->position, resources_.states())};
  if (lane) return Sent{*lane, PlannedChain::of_lane(plan_, lane->position, lane->lane, resources_.states())};
  return std::nullopt;
}

bool GraphJob::send(std::unique_lock<std::mutex>& lock, unsigned thread) {
  RemoteThread& to = *remote_[thread - pool_.computing()];
  if (!to.there() || resources_.tight()) return false;
  std::optional<Sent> sent = choose_for(to);
  if (!sent) return false;
  auto& [item, planned] = *sent;
  RemoteChain& chain = planned.chain;
  if (!pays(chain, to)) return false;
  Buffers buffers(resources_);
  for (RemoteChain::Output& output : chain.outputs) {
    output.floats = resources_.fresh();
    if (!output.floats) return false;  // without what is sent elsewhere, less is needed
    buffers.add(output.floats);
  }
  std::erase_if(ready_, [&](const Item& each) { return each.position == item.position && (!chain.lane || each.lane == item.lane); });
  std::make_heap(ready_.begin(), ready_.end(), later<Item>);
  if (!chain.lane) lanes_.erase(item.position);
  const bool done = wait_for(lock, to, chain);
  if (!done && !chain.lane) {
    add_ready(item.position);
  } else if (!done) {
    add_ready(item);
  } else if (chain.lane) {
    resources_.scratch(thread).values = {{const_cast<float*>(chain.inputs.front().floats), false}};
    finish_lane(item, buffers.keep_first(), lock, thread);
  } else {
    while (!buffers.all().empty()) buffers.keep_first();
    store(planned);
  }
  if (std::condition_variable* const sleeper = ready_.empty() ? nullptr : pool_.sleeper()) sleeper->notify_one();
  return true;
}

bool GraphJob::pays(const RemoteChain& chain, const RemoteThread& to) const {
  std::size_t samples = 0, vectors = chain.outputs.size();
  for (const RemoteChain::Node& node : chain.nodes) samples += Arithmetic::samples(*node.formula);
  if (chain.lane) samples /= arithmetic_.lanes(*chain.nodes.front().formula);
  for (const RemoteValue& input : chain.inputs) vectors += to.holds(input.key) ? 0 : 1;
  return arithmetic_.pays_elsewhere(samples, vectors);
}

bool GraphJob::wait_for(std::unique_lock<std::mutex>& lock, RemoteThread& to, const RemoteChain& chain) {
  std::condition_variable* const sleeper = ready_.empty() ? nullptr : pool_.sleeper();
  lock.unlock();
  if (sleeper) sleeper->notify_one();
  std::exception_ptr failure;
  bool done = false;
  try {
    done = to.compute(chain);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure) std::rethrow_exception(failure);
  return done;
}

bool GraphJob::share(const Item& item, const StepChain& chain, float* buffer, unsigned thread) {
  const Formula& formula = plan_[item.position].formula;
  // Threads that have nodes of their own need no share of this one.
  if (together_ || !ready_.empty() || active_ >= pool_.size() - pool_.computing() + pool_.admitted() || pool_.admitted() == 1 ||
      !arithmetic_.shared(formula))
    return false;
  try {
    SharedScratch* const scratch = resources_.prepare_shared();
    if (!scratch) return false;
    const float* const weights = resources_.scratch(thread).values.front().floats;
    together_.emplace(Together{item.position, buffer, weights, chain, SharedWork(arithmetic_, formula, weights, chain, buffer, *scratch)});
    return true;
  } catch (const std::bad_alloc&) {  // one thread needs less
    return false;
  }
}

bool GraphJob::help(std::unique_lock<std::mutex>& lock, unsigned thread) {
  Scratch& scratch = resources_.scratch(thread);
  if (!together_->work.more() || !resources_.prepare(scratch, panel_rows)) return false;
  const SharedWork::Piece piece = *together_->work.take();
  ++active_;
  std::condition_variable* const sleeper = together_->work.more() ? pool_.sleeper() : nullptr;
  lock.unlock();
  if (sleeper) sleeper->notify_one();
  std::exception_ptr failure;
  try {
    together_->work.run(piece, scratch);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --active_;
  if (failure && !failure_) failure_ = failure;
  if (failure_ || !together_->work.finish()) return true;
  if (!together_->chain.weights) arithmetic_.finish(together_->weights, together_->buffer);
  const auto [position, buffer, chain] = std::tuple(together_->position, together_->buffer, together_->chain);
  together_.reset();
  store(position, chain, buffer, false);
  return true;
}

void GraphJob::evaluate(const Item& item, const StepChain& chain, float* buffer, std::unique_lock<std::mutex>& lock, unsigned thread) {
  std::condition_variable* const sleeper = ready_.empty() || resources_.tight() ? nullptr : pool_.sleeper();
  const LineageNode& node = plan_[item.position];
  const bool whole = arithmetic_.lanes(node.formula) == 1;
  Scratch& scratch = resources_.scratch(thread);
  lock.unlock();
  if (sleeper) sleeper->notify_one();
  try {
    if (whole) {
      compute(node, chain, arithmetic_, buffer, scratch);
    } else {
      arithmetic_.lane(node.formula, scratch.values, item.lane, buffer, scratch);
    }
  } catch (...) {
    lock.lock();
    abandon(node, chain, buffer, resources_);
    throw;
  }
  lock.lock();
  if (whole) {
    store(item.position, chain, buffer, arithmetic_.sparse(node.formula, scratch.values));
  } else {
    finish_lane(item, buffer, lock, thread);
  }
}

void GraphJob::finish_lane(const Item& item, float* buffer, std::unique_lock<std::mutex>& lock, unsigned thread) {
  Lanes& lanes = lanes_[item.position];
  std::vector<float*>& all = lanes.buffers;
  all[item.lane] = buffer;
  if (lanes.adding) return;
  Scratch& scratch = resources_.scratch(thread);
  const bool sparse = arithmetic_.sparse(plan_[item.position].formula, scratch.values);
  lanes.adding = true;
  for (;;) {
    const auto next = all.begin() + static_cast<std::ptrdiff_t>(lanes.added), end = std::find(next, all.end(), nullptr);
    if (end == next || (sparse && end != all.end())) break;  // sparse ones are added once all are there
    std::vector<float*> terms(std::max(next, all.begin() + 1), end);
    terms.insert(terms.begin(), all.front());
    if (terms.size() > 1) {
      lock.unlock();
      arithmetic_.add_lanes(terms, scratch);
      lock.lock();
    }
    for (std::size_t i = 1; i < terms.size(); ++i) resources_.give(terms[i]);
    std::fill(std::max(next, all.begin() + 1), end, nullptr);
    lanes.added = static_cast<std::size_t>(end - all.begin());
  }
  lanes.adding = false;
  if (lanes.added < all.size()) return;
  float* const sum = all.front();
  if (!sparse) {
    lock.unlock();
    arithmetic_.finish(scratch.values.front().floats, sum);
    lock.lock();
  }
  lanes_.erase(item.position);
  store(item.position, {}, sum, sparse);
}

void GraphJob::store(std::size_t position, const StepChain& chain, float* buffer, bool sparse) {
  LineageNode& node = plan_[position];
  const bool gradient = node.formula.kind == Formula::Kind::gradient;
  const std::size_t last = position + (chain.weights ? chain.length() : 0);
  for (std::size_t i = position; i <= last; ++i) plan_.finish(i);
  if (chain.weights)
    resources_.store_step(node, buffer, chain);
  else
    resources_.store(node, buffer, sparse);
  finished_ += last - position + 1;
  if (remote_.empty() && pace_.count(last - position + 1)) look_at_pace();
  if (gradient && choice_ && !pace_.alone()) choose_threads();
  for (std::size_t i = position; i <= last; ++i)
    for (const std::uint32_t consumer : plan_.consumers(i))
      if (--plan_.waiting(consumer) == 0 && (consumer > last || consumer <= position)) add_ready(consumer);
}

void GraphJob::look_at_pace() {
  const double now = seconds_now();
  if (!pace_.look(now)) return;
  if (choice_ && pace_.alone()) choice_->pause(now);
  if (choice_ && !pace_.alone()) choice_->go_on(now, resources_.gradient_samples());
  pool_.admit(threads(pace_, choice_, pool_));
}

unsigned GraphJob::threads(const NodePace& pace, const ThreadChoice* choice, const ThreadPool& pool) {
  return pace.alone() ? 1 : choice ? choice->threads() : pool.computing();
}

void GraphJob::choose_threads() {
  const std::size_t others = together_ || active_ == 0 ? 0 : active_ - 1;  // a shared gradient is one
  if (choice_->advance(seconds_now(), resources_.gradient_samples(), others)) pool_.admit(choice_->threads());
}

void GraphJob::store(const PlannedChain& sent) {
  std::vector<LineageNode*> nodes;
  for (const std::uint32_t position : sent.positions) {
    nodes.push_back(&plan_[position]);
    plan_.finish(position);
  }
  for (std::size_t place = 0, next = 0; place < nodes.size(); ++place) {
    const bool goes_out = next < sent.chain.outputs.size() && sent.chain.outputs[next].node == place;
    if (goes_out)
      resources_.store(*nodes[place], sent.chain.outputs[next++].floats, false);
    else
      resources_.computed_elsewhere(*nodes[place]);
  }
  finished_ += nodes.size();
  for (const std::uint32_t position : sent.positions)
    for (const std::uint32_t consumer : plan_.consumers(position))
      if (plan_.find(consumer) && --plan_.waiting(consumer) == 0) add_ready(consumer);
}

}  // namespace straggler
