#include "sim/training/deadline.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace straggler {

namespace {

constexpr double least_spread = 0.05;  // of the median

/// Of an even number: the mean of both in the middle. Sorts them.
double median(std::vector<double>& values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

void AdaptiveDeadline::arrived(Time after) {
  latest_.push_back(after);
  if (latest_.size() > 4 * participants_) latest_.pop_front();
}

std::optional<Time> AdaptiveDeadline::now() const {
  if (latest_.size() < participants_) return std::nullopt;
  std::vector<double> seconds;
  for (const Time each : latest_) seconds.push_back(each.seconds());
  const double middle = median(seconds);
  for (double& each : seconds) each = std::abs(each - middle);
  const double spread = std::max(median(seconds), least_spread * middle);
  return Time::from_seconds(std::min(middle + factor_ * spread, Time::limit().seconds()));
}

DeadlineChoice::DeadlineChoice(const Parameters& parameters) {
  if (parameters.has("deadline.time")) time = Time::from_seconds(std::min(parameters.number("deadline.time"), Time::limit().seconds()));
  if (parameters.has("deadline.adaptive")) adaptive = parameters.number("deadline.adaptive");
  if (time && adaptive)
    throw std::invalid_argument("deadline: is a time and adapts; write deadline: {time: 100ms}, or deadline: {adaptive: 3}");
}

Parameter DeadlineChoice::time_parameter(const std::string& before) {
  return {.name = "deadline.time",
          .type = ValueType::time,
          .meaning = before + "time after which a round is closed, even if clients are missing",
          .range = Range::above(0)};
}

Parameter DeadlineChoice::adaptive_parameter(const std::string& before) {
  return {.name = "deadline.adaptive",
          .meaning = before + "k: a round is closed after the median + k MAD of the times that the last 4 p contributions took",
          .range = Range::at_least(0)};
}

RoundDeadline::RoundDeadline(const DeadlineChoice& choice, const Node& node, std::int64_t participants) : node_(node), time_(choice.time) {
  if (choice.adaptive) adaptive_.emplace(*choice.adaptive, participants);
}

void RoundDeadline::invited(Peer worker) {
  if (adaptive_) invitations_[worker.rank] = {worker.life, node_.backend().now()};
}

void RoundDeadline::arrived(Peer worker) {
  if (!adaptive_) return;
  const auto invitation = invitations_.find(worker.rank);
  if (invitation == invitations_.end()) return;
  if (invitation->second.life == worker.life) adaptive_->arrived(node_.backend().now() - invitation->second.at);
  invitations_.erase(invitation);
}

}  // namespace straggler
