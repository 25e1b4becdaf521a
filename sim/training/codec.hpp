// The codec of a node's compressed messages. It encodes the gradients and weights that leave the node, and knows what both sides then hold:
// what its messages have left out, and the weights from which differences are taken (decisions 30, 43).
#pragma once
#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/training/node_context.hpp"

namespace straggler {

/// One vector per group of workers; the group of all workers is one of them.
class GroupVectors {
 public:
  /// Empty at first.
  Handle& of(const RankGroup& group) {
    if (!group) return all_;
    for (auto& [known, value] : groups_)
      if (*known == *group) return value;
    return groups_.emplace_back(group, Handle()).second;
  }

 private:
  Handle all_;
  std::vector<std::pair<RankGroup, Handle>> groups_;
};

/// What a node's messages have left out, for the next one.
struct Residual {
  Handle vector;         // empty: nothing
  GroupVectors factors;  // of the vectors brought to all-reduces last (FactorRules)
};

/// The weights that a node knows others to hold, in one life. An empty handle: there are none yet.
struct HeldWeights {
  template <class T>
  using ByRank = boost::container::flat_map<Rank, T>;

  ByRank<Handle> received;  // the weights that came last from a server, an aggregator or a neighbour
  GroupVectors of_groups;   // results of all-reduces; over all workers, or the version published since
  Residual residual;        // of differences
  Handle factors;           // of the last difference to a server

  struct Held {
    std::uint32_t life = 0;
    Handle value;
  };
  ByRank<Held> held;  // of a node that answers: the weights that it has sent to that life

  Handle estimate;                  // its neighbours' estimate of its own weights
  ByRank<std::uint32_t> estimates;  // lives that were sent the whole estimate
};

/// Only where the run compresses (TrainingPlan::compression).
class MessageCodec {
 public:
  /// All outlive this. `start`: the weights from which the node's life began, if it began after the run; otherwise they have no value.
  MessageCodec(NodeContext& context, Rank self, const Weights& start)
      : context_(context), compression_(*context.plan.compression), start_(start), self_(self) {}

  /// Of the same node.
  MessageCodec(const MessageCodec& other)
      : context_(other.context_),
        compression_(other.compression_),
        start_(other.start_),
        self_(other.self_),
        messages_(other.messages_),
        gradients_(other.gradients_),
        held_(other.held_ ? std::make_unique<HeldWeights>(*other.held_) : nullptr) {}
  MessageCodec& operator=(const MessageCodec&) = delete;

  /// A worker's gradient as its receiver gets it, or an all-reduce over a group. A worker alone brings it whole.
  Gradient encode(const Gradient& gradient, Peer to);
  Gradient encode(const Gradient& gradient, const RankGroup& group);
  /// The weights as the difference from those that the other side holds; whole if it holds none. Weights for a worker, and those of a
  /// server, are an answer.
  Weights encode(Weights weights, Peer to);
  Weights encode(Weights weights, const RankGroup& group);
  /// The neighbours' estimate of a worker's weights: x̂ ← x̂ + q, q = C(weights - x̂). Sending it sends q. Its value is x̂.
  Weights estimate(const Weights& weights);
  /// The payload is whole weights, from which later messages of that sender may be differences: these must not overtake it.
  static bool begins_differences(const TrainingPlan& plan, Rank from, const Payload& payload);
  /// The weights as held by the node to which they were sent last.
  Weights held_by(Rank rank, const Weights& sent) const;
  /// These weights have arrived.
  void arrived(Weights& weights, Rank from);
  /// An all-reduce has averaged this node's input, `mine`: of weights, the difference.
  void averaged(Weights& mean, const Handle& mine, const RankGroup& group);
  void averaged(Gradient& mean, const Handle& mine, const RankGroup& group);
  void published(const Weights& weights);
  /// A life is over: its residuals are lost, and so is its knowledge of others' weights.
  void forget();
  /// It begins again from a checkpoint, which holds what gradients have left out; others send it whole weights.
  void forget_weights() { held_.reset(); }

 private:
  const TrainingPlan& plan() const { return context_.plan; }
  Lineage& lineage() const { return context_.lineage; }
  Algebra& algebra() const { return context_.algebra; }
  bool is_worker() const { return self_ < plan().workers; }
  bool is_server() const { return !is_worker() && !plan().aggregation.has(self_); }
  bool begins_later() const { return !start_->value.empty(); }
  const Handle& initial() const { return begins_later() ? start_->value : context_.initial_weights()->value; }
  HeldWeights& held() {
    if (!held_) held_ = std::make_unique<HeldWeights>();
    return *held_;
  }
  bool alone_in(const RankGroup& group) const { return (group ? static_cast<Rank>(group->size()) : plan().workers) == 1; }

  /// The form of the next message, of a vector made at weights of that version; its scalars are followed by a draw's number.
  CompressedForm next_form(std::uint64_t bytes, const std::vector<double>& scalars, std::uint64_t version);
  /// q of v, and of what earlier messages have left out; `residual` keeps what q leaves out. Null: the next vector contains that anyway.
  /// `pieces`: see Compression::in_pieces; empty: v is one. `factors`: in, those sent before; out, the new ones; null: no warm start.
  Handle compressed(const Handle& v, CompressedForm& form, Handle* residual, Handle* factors, std::vector<double> pieces = {});
  /// The input of an all-reduce of factors: v with the residual, whole, and its left factor in the form.
  Handle with_left_factor(const Handle& v, CompressedForm& form, Residual& residual, const RankGroup& group);
  /// After that all-reduce: its product, and the part of `mine` that this leaves out.
  void note_product(const LowRank& of_all, const Handle& mine, std::uint64_t version, Residual& residual, const RankGroup& group);
  Handle left_factor(const Handle& v, const std::vector<double>& scalars, const Handle& last);
  Handle product(const Handle& v, CompressedForm& form, Handle* last);
  Handle plus(const Handle& v, const Handle& residual);
  CompressedForm next_form(const Gradient& gradient);
  Gradient with_form(const Gradient& gradient, const Handle& sent, CompressedForm form);
  /// The bounds of a fragment, or of the buckets of a whole vector.
  std::vector<double> pieces_of(const Fragment& fragment) const;
  Weights difference(Weights weights, const Handle& base, Handle* residual);
  Weights with_difference(Weights weights, const Handle& base, const Handle& change, CompressedForm form);
  Weights answer(Weights weights, Peer to);
  bool knows_estimate(Rank rank);

  NodeContext& context_;
  const Compression& compression_;
  const Weights& start_;
  Rank self_;
  std::uint64_t messages_ = 0;         // encoded
  Residual gradients_;                 // of gradients
  std::unique_ptr<HeldWeights> held_;  // null: nothing yet
};

}  // namespace straggler
