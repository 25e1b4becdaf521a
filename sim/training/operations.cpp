#include "sim/training/operations.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>

namespace straggler {

namespace {
[[gnu::always_inline]] inline Gradient gradient_of(const Participant& node, const Weights& weights, const DrawnBatch& batch, Time spent) {
  Gradient result;
  GradientState& gradient = result.edit();
  gradient.take(node.algebra().taken(weights->value, batch), batch);
  gradient.at = weights;
  gradient.worker = node.self();
  gradient.spent = spent;
  return result;
}
}  // namespace

Gradient computed_gradient(const Participant& node, const Weights& weights, const DrawnBatch& batch, Time spent) {
  return gradient_of(node, weights, batch, spent);
}

Gradient ComputeOperation::gradient() const { return gradient_of(node(), weights_, batch_, span); }

void MailOperation::take(MessagePointer item) {
  message = std::move(item);
  node().backend().received(*this);
}

namespace {
void require_all_reduce(const Participant& node) {
  if (!node.backend().reduces())
    throw UnsupportedOperation(node.name() +
                               " calls an all-reduce, but its scheme exchanges through a server; set SchemeEntry::reduces to allow both");
  if (!node.is_worker()) throw UnsupportedOperation(node.name() + " calls an all-reduce; these are for workers");
}
}  // namespace

void AveragedGradientOperation::prepare() { require_all_reduce(node()); }

namespace {
/// The parts of a mean are of a plain vector, and stay with workers that stay.
void require_parts(const Participant& node, const Gradient& gradient) {
  const auto refuse = [&](const char* what) { throw UnsupportedOperation(node.name() + " calls a reduce-scatter " + what); };
  if (node.workers() == 1) return;
  if (node.plan().compression) refuse("of compressed gradients, whose parts cannot be told apart; set training.compression: none");
  if (node.plan().statistics)
    refuse("of a model whose vectors end in running statistics or a loss scale, which no part alone has; call all_reduce_mean");
  if (node.backend().members_change())
    refuse("where workers fail, leave or join, each with a part that no other has; call all_reduce_mean, or remove the faults");
  if (!gradient->fragment().whole()) refuse("of a part of a gradient; bring the whole");
}
}  // namespace

void CollectiveOperation::prepare() {
  require_all_reduce(node());
  if (kind() == Kind::reduce_scatter) require_parts(node(), std::get<Gradient>(payload));
  if (!group_) return;
  const std::vector<Rank>& ranks = *group_;
  const bool ascending = std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end();
  if (!ascending || ranks.empty() || ranks.front() < 0 || ranks.back() >= node().workers() ||
      !std::ranges::binary_search(ranks, node().self()))
    throw std::invalid_argument(node().name() +
                                " calls a collective over a group that is not an ascending list of workers including this one");
}

void CellOperation::prepare() {
  if (node().plan().cell_chunks == 0 || node().is_server())
    throw UnsupportedOperation(node().name() + " accesses shared weights, but its scheme declares none; set SchemeEntry::cell_chunks");
}

void ReceiveOperationBase::prepare() {
  const std::int32_t forced = node().backend().forced_choice(node().self());
  if (forced >= 0) from_ = forced;
}

std::string ReceiveOperationBase::describe() const {
  static constexpr std::array<const char*, std::variant_size_v<Payload>> what = {"weights", "a gradient", "a change of members", "samples",
                                                                                 "a token"};
  std::string text = node().name() + " waits for " + what[payload_kind_] + " from ";
  if (from_ == anyone) return text + "anyone";
  return text + node().plan().name_of(from_);
}

std::string SignalOperation::describe() const { return node().name() + " waits for signal " + std::to_string(number_); }

}  // namespace straggler
