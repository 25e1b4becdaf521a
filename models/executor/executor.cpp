#include "models/executor/executor.hpp"

#include <algorithm>
#include <unordered_map>

#include "models/data/blocks.hpp"
#include "models/executor/arithmetic.hpp"
#include "models/executor/evaluation.hpp"
#include "models/executor/graph_job.hpp"
#include "models/executor/plan.hpp"
#include "models/executor/resources.hpp"
#include "models/executor/thread_pool.hpp"
#include "sim/base/machine.hpp"

namespace straggler {
namespace {

std::size_t budget_bytes(std::size_t asked) {
  if (asked > 0) return asked;
  return static_cast<std::size_t>(usable_memory() / 4 * 3);
}

}  // namespace

struct Executor::Implementation {
  Implementation(Lineage& lineage_, const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels,
                 const ExecutorOptions& options)
      : lineage(lineage_),
        arithmetic(model, data, partition, kernels, options.seed, options.numerics, true),
        remote(model.one_thread() ? std::span<RemoteThread* const>() : options.remote),
        pool(model.one_thread() ? 1 : thread_count(options.threads), static_cast<unsigned>(remote.size())),
        resources(lineage, arithmetic, budget_bytes(options.memory_budget), pool.size()),
        evaluations(data, options.train_subset, options.seed),
        known(options.known) {
    if (options.choose_threads && remote.empty()) choice.emplace(pool.computing());
    if (known) take = [this](LineageNode& node) { return take_one(node); };
    arithmetic.start_from(options.initial_weights);
    if (!options.exchange_statistics && model.statistics() > 0) arithmetic.keep_first_statistics();
  }

  LineageNode& node_of(const Handle& handle) {
    if (!handle.node())
      throw std::logic_error("a handle without a node has no value: it is empty, or its lineage was made with Math::none");
    if (handle.node()->lineage != &lineage) throw std::logic_error("a handle of another lineage than the executor's");
    resources.know_nodes();
    return *handle.node();
  }

  NodeState& state(const LineageNode& node) { return resources.states()[node]; }

  /// If memory is short, sets values that can be recomputed aside, one by one. None of them is needed for `node`, so this terminates.
  void force(LineageNode& node) {
    for (;;) {
      try {
        return force_once(node);
      } catch (const MemoryBudgetExceeded&) {
        if (!resources.set_aside_one(nullptr)) throw;
      }
    }
  }

  void force_once(LineageNode& node) {
    if (state(node).evaluated()) return;
    Plan plan(node, resources.states(), take);
    if (plan.size() == 0) return;
    for (std::size_t i = 0; i < plan.size(); ++i) arithmetic.prepare(plan[i].formula, plan[i].inputs.size());
    if (pool.size() == 1 || (plan.size() == 1 && arithmetic.lanes(node.formula) == 1 && !arithmetic.shared(node.formula)))
      return evaluate_in_order(plan, arithmetic, resources);
    ThreadChoice* const chosen = choice ? &*choice : nullptr;
    GraphJob job(plan, arithmetic, resources, pool, remote, pace, chosen);
    pool.run(job, GraphJob::threads(pace, chosen, pool));
    const double end = seconds_now();
    pace.pause(end);
    if (chosen && !pace.alone()) chosen->pause(end);
    if (job.failure()) std::rethrow_exception(job.failure());
  }

  /// A value that was set aside is recomputed from its inputs, which are in memory.
  bool take_one(LineageNode& node) {
    if (node.evaluated || !known->knows(node.key)) return false;
    float* const buffer = resources.fresh();
    if (!buffer) return false;
    if (!known->read(node.key, {buffer, arithmetic.length()})) {
      resources.give(buffer);
      return false;
    }
    resources.take(node, buffer);
    return true;
  }

  /// Unevaluated nodes that are held by anything other than nodes.
  std::vector<LineageNode*> unevaluated_roots() const {
    std::unordered_map<const LineageNode*, std::uint32_t> held;
    lineage.each([&held](const LineageNode& node) {
      for (const LineageNode* input : node.inputs) ++held[input];
    });
    std::vector<LineageNode*> roots;
    lineage.each([&](LineageNode& node) {
      if (node.evaluated) return;
      const auto at = held.find(&node);
      if (node.references > (at == held.end() ? 0 : at->second)) roots.push_back(&node);
    });
    return roots;
  }

  Lineage& lineage;
  Arithmetic arithmetic;
  const std::span<RemoteThread* const> remote;
  ThreadPool pool;
  Resources resources;
  Evaluations evaluations;
  KnownValues* const known;
  Plan::Take take;
  std::optional<ThreadChoice> choice;
  NodePace pace;
};

Executor::Executor(Lineage& lineage, const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels,
                   ExecutorOptions options) {
  if (partition.sizes().total > data.train.count()) throw std::logic_error("a partition of more samples than the training set has");
  implementation_ = std::make_unique<Implementation>(lineage, model, data, partition, kernels, options);
  lineage.set_owner(this);
}

Executor::~Executor() { implementation_->lineage.set_owner(nullptr); }

Evaluation Executor::evaluate(const Handle& weights, EvaluationSet set) {
  if (const Evaluation* known = implementation_->evaluations.find(weights.key(), set)) return *known;
  const std::span<const float> values = value(weights);
  for (;;) {
    try {
      return implementation_->evaluations.evaluate(weights.key(), values.data(), set, implementation_->arithmetic,
                                                   implementation_->resources, implementation_->pool, implementation_->remote);
    } catch (const MemoryBudgetExceeded&) {
      if (!implementation_->resources.set_aside_one(weights.node())) throw;
    }
  }
}

ChunkSums Executor::evaluate_chunk(std::span<const float> weights, EvaluationSet set, std::uint64_t chunk) {
  if (weights.size() != length()) throw std::logic_error("weights that are not as long as the model has parameters");
  return implementation_->evaluations.chunk(weights.data(), set, chunk, implementation_->arithmetic, implementation_->resources);
}

void Executor::gradient_lane(std::span<const float> weights, const Formula& formula, std::size_t lane, std::span<float> out) {
  Arithmetic& arithmetic = implementation_->arithmetic;
  Resources& resources = implementation_->resources;
  arithmetic.prepare(formula, 1);
  if (weights.size() != length() || out.size() != length() || lane >= arithmetic.lanes(formula) || arithmetic.sparse(formula, {}))
    throw std::logic_error("a lane that the gradient does not have");
  Scratch& scratch = resources.scratch(0);
  if (!resources.prepare(scratch, arithmetic.largest_part(formula))) throw MemoryBudgetExceeded(resources.refusal());
  const InputValue input{const_cast<float*>(weights.data()), false};  // is only read
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(arithmetic.model_length()), out.end(), 0.0f);
  arithmetic.lane(formula, {&input, 1}, lane, out.data(), scratch);
}

std::optional<LossScale> Executor::loss_scale(const Handle& weights) {
  return implementation_->arithmetic.scaling_of(value(weights).data());
}

void Executor::force(const Handle& value) { implementation_->force(implementation_->node_of(value)); }

std::span<const float> Executor::value(const Handle& handle) {
  LineageNode& node = implementation_->node_of(handle);
  implementation_->force(node);
  if (implementation_->state(node).place == ValuePlace::elsewhere)
    throw std::logic_error("a value is asked for that was passed over and not restored");
  return {implementation_->resources.dense_value(node), implementation_->arithmetic.length()};
}

std::shared_ptr<const float> Executor::hold(const Handle& handle) {
  const float* const floats = value(handle).data();
  ++implementation_->state(*handle.node()).holders;
  return {floats, [this, handle](const float*) { --implementation_->state(*handle.node()).holders; }};
}

void Executor::take_known() {
  if (!implementation_->known) return;
  implementation_->resources.know_nodes();
  for (LineageNode* root : implementation_->unevaluated_roots())
    const Plan walked(*root, implementation_->resources.states(), implementation_->take);
}

std::size_t Executor::model_length() const { return implementation_->arithmetic.model_length(); }

void Executor::give(const Handle& handle, std::span<const float> values) {
  LineageNode& node = implementation_->node_of(handle);
  if (node.evaluated) return;
  if (values.size() != implementation_->arithmetic.length())
    throw std::logic_error("a value that is not as long as the model has parameters");
  LentFloats buffer = lend();
  std::copy(values.begin(), values.end(), buffer.get());
  give(handle, std::move(buffer));
}

LentFloats Executor::lend() {
  float* const buffer = implementation_->resources.fresh();
  if (!buffer) throw MemoryBudgetExceeded(implementation_->resources.refusal());
  return {buffer, [this](float* back) { implementation_->resources.give(back); }};
}

void Executor::give(const Handle& handle, LentFloats values) {
  LineageNode& node = implementation_->node_of(handle);
  if (node.evaluated) return;
  if (node.formula.kind != Formula::Kind::leaf) implementation_->arithmetic.prepare(node.formula, node.inputs.size());
  implementation_->resources.store(node, values.release(), false);
}

void Executor::pass_over(const Handle& value) {
  Plan plan(implementation_->node_of(value), implementation_->resources.states());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    LineageNode& node = plan[i];
    plan.finish(i);
    implementation_->resources.pass_over(node);
  }
}

void Executor::pass_over(const Handle& weights, EvaluationSet set, const Evaluation& result) {
  if (implementation_->evaluations.find(weights.key(), set)) return;
  pass_over(weights);
  implementation_->evaluations.remember(weights.key(), set, result);
}

void Executor::bring_back() {
  std::vector<LineageNode*> away;
  implementation_->lineage.each([&](LineageNode& node) {
    if (node.evaluated && implementation_->state(node).place == ValuePlace::set_aside) away.push_back(&node);
  });
  for (LineageNode* node : away) implementation_->force_once(*node);
}

std::vector<Executor::LiveValue> Executor::live_values() const {
  std::vector<LiveValue> live;
  implementation_->lineage.each([&](LineageNode& node) {
    if (!node.evaluated) return;
    const bool here = implementation_->state(node).place == ValuePlace::here;
    live.push_back({node.key, here ? implementation_->resources.dense_value(node) : nullptr});
  });
  std::sort(live.begin(), live.end(), [](const LiveValue& a, const LiveValue& b) { return a.key < b.key; });
  return live;
}

std::size_t Executor::length() const { return implementation_->arithmetic.length(); }

bool Executor::restore(const Key& key, std::span<const float> values) {
  LineageNode* const node = implementation_->lineage.find(key);
  if (!node || !node->evaluated || implementation_->state(*node).place != ValuePlace::elsewhere || values.size() != length()) return false;
  float* const buffer = implementation_->resources.fresh();
  if (!buffer) throw MemoryBudgetExceeded(implementation_->resources.refusal());
  std::copy(values.begin(), values.end(), buffer);
  implementation_->resources.restore(*node, buffer);
  return true;
}

ExecutorStatistics Executor::statistics() const {
  ExecutorStatistics now = implementation_->resources.statistics();
  const std::optional<ThreadChoice>& choice = implementation_->choice;
  const bool alone = implementation_->pace.alone();
  now.threads = alone ? 1 : choice ? choice->fastest() : implementation_->pool.computing();
  now.threads_compared = choice && (alone || choice->compared());
  return now;
}

void Executor::release(LineageNode& node) noexcept { implementation_->resources.release(node); }

}  // namespace straggler
