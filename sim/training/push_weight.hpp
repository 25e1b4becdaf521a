// The weights of push-sum. A worker holds a sum x and a weight w, and its estimate is x / w. A worker that gives away a share of its sum
// gives away the same share of its weight. The weights of p workers, including those in messages, add up to p.
//
// No weight is ever lost: the weight of a worker that has gone, or of a message that was not taken, returns to the run's pool at that
// instant, until a worker draws it. So the pool, the workers' weights, and the weights in messages add up to p at every moment.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>

namespace straggler {

/// A share of the p of a run. Moved, never copied; at its end the rest goes into the pool.
class PushWeight {
 public:
  static constexpr unsigned wire_bytes = 8;  // on the wire: a double
  /// The part of the run's weights that no worker holds: p before the first draw.
  using Pool = std::shared_ptr<double>;

  /// `amount` comes from another process, which has sent it.
  explicit PushWeight(double amount) : amount_(amount) {}
  /// Draws at most `most`, as much as the pool has.
  PushWeight(Pool pool, double most) : pool_(std::move(pool)), amount_(std::min(most, *pool_)) { *pool_ -= amount_; }
  PushWeight(PushWeight&& other) noexcept : pool_(other.pool_), amount_(other.take()) {}
  PushWeight& operator=(PushWeight&&) = delete;
  ~PushWeight() {
    if (pool_) *pool_ += amount_;
  }

  double amount() const { return amount_; }
  /// Splits off half of it.
  PushWeight half() {
    PushWeight other(pool_, amount_ / 2, Split());
    amount_ -= other.amount_;
    return other;
  }
  /// Takes all of `other`, which is of the same run.
  void add(PushWeight& other) { amount_ += other.take(); }

 private:
  struct Split {};
  PushWeight(Pool pool, double amount, Split) : pool_(std::move(pool)), amount_(amount) {}
  double take() { return std::exchange(amount_, 0); }

  Pool pool_;  // null: none
  double amount_;
};

}  // namespace straggler
