#include "sim/simulated/update_watch.hpp"

#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

[[noreturn]] void refuse(const std::string& work) {
  throw NoUpdates(
      work +
      " and no update: a run counts updates by node.publish(weights), and stops by them; publish the weights of each update, or "
      "set training.stop.simulated_time");
}

}  // namespace

bool UpdateWatch::begins_anew(std::uint64_t updates) {
  if (updates == updates_) return false;
  updates_ = updates;
  computed_ = samples_ = stepped_ = 0;
  next_gradients_ = gradients_;
  next_steps_ = patience_.steps;
  return true;
}

void UpdateWatch::look_at_gradients(std::uint64_t updates) {
  if (begins_anew(updates)) return;
  next_gradients_ += gradients_;
  if (epoch_samples_ > 0 && static_cast<double>(samples_) < patience_.passes * static_cast<double>(epoch_samples_)) return;
  refuse(readable_count(computed_) + " gradients");
}

void UpdateWatch::look_at_steps(const Node& node, std::uint64_t updates) {
  if (!begins_anew(updates)) refuse(readable_count(stepped_) + " steps of " + node.name());
}

void PollWatch::refuse(const Node& node) const {
  throw Standstill(node.name() + " polls again and again: " + readable_count(count_) + " polls at " +
                   format_quantity(at_.seconds(), Dimension::time) +
                   ", where time stands still; wait for a message, or for a timer of more than no time");
}

}  // namespace straggler
