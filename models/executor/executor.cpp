#include "models/executor/executor.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "models/executor/arithmetic.hpp"
#include "models/executor/evaluation.hpp"
#include "models/executor/graph_job.hpp"
#include "models/executor/plan.hpp"
#include "models/executor/resources.hpp"
#include "models/executor/thread_pool.hpp"

namespace straggler {
namespace {

unsigned thread_count(unsigned asked) { return std::max(1u, asked > 0 ? asked : std::thread::hardware_concurrency()); }

std::size_t budget_bytes(std::size_t asked) {
  if (asked > 0) return asked;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return static_cast<std::size_t>(pages) / 4 * 3 * static_cast<std::size_t>(page);
}

}  // namespace

struct Executor::Implementation {
  Implementation(Lineage& lineage_, const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels,
                 const ExecutorOptions& options)
      : lineage(lineage_),
        arithmetic(model, data, partition, kernels, options.seed, true),
        pool(thread_count(options.threads)),
        resources(lineage, arithmetic, budget_bytes(options.memory_budget), pool.size()),
        evaluations(data, options.train_subset, options.seed) {}

  LineageNode& node_of(const Handle& handle) const {
    if (!handle.node())
      throw std::logic_error("a handle without a node has no value: it is empty, or its lineage was made with Math::none");
    if (handle.node()->lineage != &lineage) throw std::logic_error("a handle of another lineage than the executor's");
    return *handle.node();
  }

  void force(LineageNode& node) {
    if (node.value) return;
    Plan plan(node);
    for (std::size_t i = 0; i < plan.size(); ++i) arithmetic.prepare(plan[i]);
    if (pool.size() == 1 || (plan.size() == 1 && arithmetic.lanes(node) == 1)) return evaluate_in_order(plan, arithmetic, resources);
    GraphJob job(plan, arithmetic, resources, pool);
    pool.run(job);
    if (job.failure()) std::rethrow_exception(job.failure());
  }

  Lineage& lineage;
  Arithmetic arithmetic;
  ThreadPool pool;
  Resources resources;
  Evaluations evaluations;
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
  return implementation_->evaluations.evaluate(weights.key(), values.data(), set, implementation_->arithmetic, implementation_->resources,
                                               implementation_->pool);
}

void Executor::force(const Handle& value) { implementation_->force(implementation_->node_of(value)); }

std::span<const float> Executor::value(const Handle& handle) {
  LineageNode& node = implementation_->node_of(handle);
  implementation_->force(node);
  implementation_->arithmetic.make_dense(node);
  return {static_cast<const float*>(node.value), implementation_->arithmetic.length()};
}

void Executor::give(const Handle& handle, std::span<const float> values) {
  LineageNode& node = implementation_->node_of(handle);
  if (node.value) return;
  if (values.size() != implementation_->arithmetic.length())
    throw std::logic_error("a value that is not as long as the model has parameters");
  if (node.formula.kind != Formula::Kind::leaf) implementation_->arithmetic.prepare(node);
  float* const buffer = implementation_->resources.fresh();
  if (!buffer) throw MemoryBudgetExceeded(implementation_->resources.refusal());
  std::copy(values.begin(), values.end(), buffer);
  implementation_->resources.store(node, buffer, false);
}

ExecutorStatistics Executor::statistics() const { return implementation_->resources.statistics(); }

void Executor::release(LineageNode& node) noexcept { implementation_->resources.release(node); }

}  // namespace straggler
