#include "models/executor/thread_choice.hpp"

#include <algorithm>

namespace straggler {
namespace {

constexpr double budget = 0.01;                                // share of the time that comparisons may lose
constexpr double shortest_slice = 2e-3, longest_slice = 5e-2;  // in seconds
constexpr double expected_loss = 0.5;                          // share of a challenger's slice
constexpr int pairs_to_win = 3;
constexpr double more_must_save = 0.02, fewer_may_lose = 0.005;
constexpr double rest = 4;                    // after a challenger has lost, times its trial
constexpr std::size_t rounds_of_a_slice = 4;  // each as many gradients as are in flight

std::vector<unsigned> powers_of_two_to(unsigned most) {
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

/// Grows with the time spent, as the budget does.
double slice_at(double spent) { return std::clamp(spent * budget / expected_loss, shortest_slice, longest_slice); }

}  // namespace

ThreadChoice::ThreadChoice(unsigned most) : counts_(powers_of_two_to(most)), at_(counts_.size() - 1) {}

void ThreadChoice::pause(double now) {
  spent_ += now - last_;
  last_ = now;
}

void ThreadChoice::go_on(double now, std::uint64_t samples) {
  resume(now);
  begin_slice(samples);
}

bool ThreadChoice::advance(double now, std::uint64_t samples, std::size_t in_flight) {
  pause(now);
  if (settling_ > 0) {
    if (--settling_ == 0) begin_slice(samples);
    return false;
  }
  if (!trial_) {
    trial_ = next_trial();
    if (trial_) begin_slice(samples);
    return false;
  }
  ++slice_gradients_;
  const double seconds = spent_ - slice_start_;
  if (seconds < slice_at(slice_start_) || slice_gradients_ < rounds_of_a_slice * std::max<std::size_t>(in_flight, 1)) return false;
  const unsigned before = threads();
  const double pace = seconds / static_cast<double>(std::max<std::uint64_t>(samples - slice_samples_, 1));
  if (!trial_->challenges) {
    trial_->fastest += pace;
    trial_->challenges = true;
  } else {
    trial_->challenger += pace;
    ++trial_->pairs;
    lost_ += std::max(0.0, seconds * (1 - trial_->fastest / trial_->pairs / pace));
    end_pair();
  }
  settling_ = in_flight;
  if (settling_ == 0) begin_slice(samples);
  return threads() != before;
}

void ThreadChoice::begin_slice(std::uint64_t samples) {
  slice_start_ = spent_;
  slice_samples_ = samples;
  slice_gradients_ = 0;
}

std::optional<ThreadChoice::Trial> ThreadChoice::next_trial() const {
  if (counts_.size() == 1 || spent_ < rest_until_ || lost_ + expected_loss * slice_at(spent_) > budget * spent_) return std::nullopt;
  const bool fewer = at_ > 0 && (fewer_ || at_ + 1 == counts_.size());
  return Trial{fewer ? at_ - 1 : at_ + 1, spent_};
}

void ThreadChoice::end_pair() {
  const bool fewer = trial_->other < at_;
  if (trial_->challenger >= trial_->fastest * (fewer ? 1 + fewer_may_lose : 1 - more_must_save)) {
    fewer_ = !fewer;
    compared_ = true;
    rest_until_ = spent_ + rest * (spent_ - trial_->start);
    trial_.reset();
  } else if (trial_->pairs == pairs_to_win) {
    at_ = trial_->other;
    fewer_ = fewer;
    compared_ = true;
    trial_.reset();
  } else {
    trial_->challenges = false;
  }
}

}  // namespace straggler
