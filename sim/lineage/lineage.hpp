// Lineage: the computations of a run, each named by a 128-bit key, without values.
//
// A handle names a value ("the gradient of these weights on samples 512..543"). With Math::none a handle is its key and nothing is stored.
// With Math::lazy handles refer to nodes in an arena; an executor (models/executor) evaluates them on demand.
//
// Invariants:
//  - Keys are odd numbers. Equal keys are one node. A node's value depends on its formula and its inputs' values only.
//  - A node lives while a handle or an unevaluated consumer refers to it. Releasing one is iterative, down any chain.
//  - Handles are made, copied and dropped on one thread, and never while an executor is evaluating.
#pragma once
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/key.hpp"

namespace straggler {

/// Samples [position, position + size) of the endless sequence that a stream draws from its part of the data set:
/// stream i belongs to worker i, or `shared_stream` to all. Never straddles an epoch of the stream.
struct Batch {
  std::uint64_t position = 0;
  std::uint32_t stream = 0, size = 0;
  bool operator==(const Batch&) const = default;
};
inline constexpr std::uint32_t shared_stream = 0xFFFFFFFFu;

/// An elementwise operation on parameter vectors; its arithmetic is registered under this name in models/.
struct Rule {
  std::string_view name;
};
namespace rules {
extern const Rule mean;       // (x_1 + … + x_k) / k, summed in the order of the inputs
extern const Rule ring_mean;  // the same, each of k chunks summed in the rotated order of a ring all-reduce; of a fragment (index, count)
extern const Rule weighted_mean;    // Σ scalars[i] x_i, summed in the order of the inputs
extern const Rule add;              // x_1 + x_2
extern const Rule corrected;        // Σ scalars[i] x_i; running statistics are those of x_1
extern const Rule product;          // x_1 ⊙ … ⊙ x_k, from left to right; running statistics are those of x_1
extern const Rule difference;       // x_1 - x_2 in fragment (index, count), else 0; running statistics are those of x_2
extern const Rule blend;            // (1 - share) x_1 + share x_2 in fragment; scalars: share, index, count; else x_1
extern const Rule part;             // x in fragment (index, count), else 0
extern const Rule mixture;          // chunk k of n, n = number of scalars, is taken from x_{scalars[k]} (from 0)
extern const Rule with_statistics;  // x_1, with the running statistics of x_2
extern const Rule residual;         // x_1 + x_3 - x_2; without x_3 x_1 - x_2: the part of x_1 that a compressed gradient x_2 leaves out
extern const Rule as_fp16;          // x, rounded to FP16 as in a message
extern const Rule as_bf16;          // likewise in bfloat16
}  // namespace rules

/// All that a value depends on besides its inputs.
struct Formula {
  enum class Kind : std::uint8_t {
    leaf,         // a value from outside
    initial,      // the initial weights; follows from the root key
    gradient,     // input: weights. Mean over `batches` of the mean gradient of each batch's loss
    elementwise,  // `rule` applied to the inputs and `scalars`
  };
  Kind kind = Kind::leaf;
  const Rule* rule = nullptr;
  std::vector<Batch> batches;
  std::vector<double> scalars;
};

class Lineage;

struct LineageNode {
  Key key;
  Formula formula;
  std::vector<LineageNode*> inputs;  // each holds one reference; dropped once the value is known
  std::uint32_t references = 0;
  std::uint32_t slot = 0;  // below Lineage::slots(), of no other live node: for tables beside the lineage
  bool evaluated = false;  // its value is known to the ValueOwner
  Lineage* lineage = nullptr;
};

/// Names a value. Cheap to copy. Must not outlive its lineage.
class Handle {
 public:
  Handle() = default;
  /// A name alone. Throws std::logic_error unless the key is odd, as Lineage makes them, or none.
  explicit Handle(const Key& key) : high_(key.high), low_(key.low) {
    if ((low_ & 1) == 0 && key != Key{}) throw std::logic_error("a key of the lineage is odd; this one was made elsewhere");
  }
  explicit Handle(LineageNode& node) : low_(reinterpret_cast<std::uintptr_t>(&node)) { ++node.references; }
  Handle(const Handle& o) : high_(o.high_), low_(o.low_) {
    if (LineageNode* const shared = node()) ++shared->references;
  }
  Handle(Handle&& o) noexcept : high_(std::exchange(o.high_, 0)), low_(std::exchange(o.low_, 0)) {}
  Handle& operator=(Handle o) noexcept {
    std::swap(high_, o.high_);
    std::swap(low_, o.low_);
    return *this;
  }
  [[gnu::always_inline]] inline ~Handle();
  Key key() const { return node() ? node()->key : Key{high_, low_}; }
  bool empty() const { return low_ == 0; }
  /// Null when timing alone.
  LineageNode* node() const { return low_ & 1 ? nullptr : reinterpret_cast<LineageNode*>(low_); }

 private:
  // An odd key, or an address, which is even.
  std::uint64_t high_ = 0, low_ = 0;
};

/// Keeper of the values: called when an evaluated node dies.
class ValueOwner {
 public:
  virtual void release(LineageNode& node) noexcept = 0;

 protected:
  ~ValueOwner() = default;
};

enum class Math { none, lazy };

/// Owns all nodes; outlives every handle.
class Lineage {
 public:
  /// `root` hashes the data's content, the partition, the model, the seed and the kernel set.
  Lineage(Math math, const Key& root) : math_(math), root_(root) {}
  Lineage(const Lineage&) = delete;
  Lineage& operator=(const Lineage&) = delete;
  ~Lineage();

  Handle make(Formula formula, std::span<const Handle> inputs);
  Handle initial();
  Handle gradient(const Handle& weights, const Batch& batch);
  /// Mean of the mean gradients of the batches at the same weights, as one large batch.
  Handle mean_gradient(const Handle& weights, std::span<const Batch> batches);
  Handle mean_gradient(const Handle& weights, std::initializer_list<Batch> batches) {
    return mean_gradient(weights, std::span(batches.begin(), batches.size()));
  }
  Handle elementwise(const Rule& rule, std::span<const Handle> inputs, std::span<const double> scalars = {});
  Handle elementwise(const Rule& rule, std::span<const Handle> inputs, std::initializer_list<double> scalars) {
    return elementwise(rule, inputs, std::span(scalars.begin(), scalars.size()));
  }
  /// Of two inputs, as most steps have them: timing alone copies no handles.
  Handle elementwise(const Rule& rule, const Handle& first, const Handle& second, std::initializer_list<double> scalars);
  /// Named elsewhere, with a known origin: the node of that name if there is one, otherwise one whose value is to be given.
  Handle leaf(const Key& name);

  Math math() const { return math_; }
  const Key& root() const { return root_; }
  std::size_t live() const { return nodes_.size(); }
  /// Live nodes without a value: possible work of an executor.
  std::size_t pending() const { return pending_; }

  // For the executor.
  /// The live node of that name, or null.
  LineageNode* find(const Key& name) const {
    const auto at = nodes_.find(name);
    return at == nodes_.end() ? nullptr : at->second;
  }
  /// visit(node) for every live node, in no particular order.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& [key, node] : nodes_) visit(*node);
  }
  void set_owner(ValueOwner* owner) { owner_ = owner; }
  /// Slots that nodes have had so far.
  std::size_t slots() const { return arena_.size(); }
  /// The node's value is known now: its inputs are released.
  void evaluated(LineageNode& node) noexcept;
  /// The last reference is gone.
  void release(LineageNode* node) noexcept;

 private:
  /// The hashed part of a key: a Formula without memory of its own.
  struct View {
    Formula::Kind kind;
    const Rule* rule = nullptr;
    std::span<const Batch> batches = {};
    std::span<const double> scalars = {};
  };
  Key key(const View& formula, std::span<const Handle> inputs);
  /// Of an elementwise formula's kind, rule and scalars.
  const Hasher& beginning(const View& formula);
  Handle make(const View& formula, std::span<const Handle> inputs);
  /// The node of that name, and whether it is a new one.
  std::pair<LineageNode*, bool> node_named(const Key& name);
  void drop(LineageNode* first) noexcept;

  Math math_;
  Key root_;
  ValueOwner* owner_ = nullptr;
  struct {
    const Rule* rule = nullptr;
    std::string_view name;  // the rule's
    std::vector<double> scalars;
    Hasher hasher;
  } latest_;  // the elementwise formula that was hashed last: a run mostly applies the same rule with the same scalars
  std::size_t pending_ = 0;
  std::unordered_map<Key, LineageNode*, KeyHash> nodes_;
  std::deque<LineageNode> arena_;
  std::vector<LineageNode*> free_, dead_;
};

inline Handle::~Handle() {
  if (LineageNode* const named = node(); named && --named->references == 0) named->lineage->release(named);
}

}  // namespace straggler
