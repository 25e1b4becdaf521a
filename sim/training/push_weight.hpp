// The weights of push-sum. A worker holds a sum x and a weight w, and its estimate is x / w. With a share of its sum a worker gives away
// the same share of its weight. The weights of p workers, those in messages included, add up to p.
//
// Nothing of them is ever lost: what a worker held that has gone, and what was in a message that has not been taken, lies in the run's pool
// from that instant on, until a worker draws it. So the pool, what workers hold, and what is in messages add up to p at every moment.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>

namespace straggler {

/// A share of the p of a run. Moved, never copied; what is left of it at its end goes into the pool.
class PushWeight {
 public:
  static constexpr unsigned wire_bytes = 8;  // on the wire: a double
  /// The part of the run's weights that nobody holds: p before the first draw.
  using Pool = std::shared_ptr<double>;

  /// `amount` is from elsewhere: another process has sent it.
  explicit PushWeight(double amount) : amount_(amount) {}
  /// As much of `most` as is in the pool.
  PushWeight(Pool pool, double most) : pool_(std::move(pool)), amount_(std::min(most, *pool_)) { *pool_ -= amount_; }
  PushWeight(PushWeight&& other) noexcept : pool_(other.pool_), amount_(other.take()) {}
  PushWeight& operator=(PushWeight&&) = delete;
  ~PushWeight() {
    if (pool_) *pool_ += amount_;
  }

  double amount() const { return amount_; }
  /// Half of it leaves.
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
