#include "sim/simulated/update_watch.hpp"

#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

void UpdateWatch::refuse(const std::string& work, const std::string& why) const {
  if (empty_updates_ > 0)
    throw NoUpdates(work + " and " + readable_count(empty_updates_) +
                    " updates without a sample in them: a run of epochs stops by samples; make gradients arrive in time to be "
                    "counted, or set training.stop.updates or simulated_time");
  throw NoUpdates(work + " and no update: " +
                  (why.empty() ? "a run counts updates by node.publish(weights), and stops by them; publish the weights of each update, or "
                                 "set training.stop.simulated_time"
                               : why));
}

bool UpdateWatch::begins_anew(const Weights& latest) {
  const std::uint64_t reached = goal_ == Goal::samples ? latest->progress : latest->version;
  empty_updates_ = latest->version - version_;
  if (reached == reached_) return false;
  reached_ = reached;
  version_ = latest->version;
  computed_ = samples_ = stepped_ = 0;
  next_gradients_ = gradients_;
  next_steps_ = patience_.steps;
  return true;
}

void UpdateWatch::look_at_gradients(const Weights& latest, const std::string& why) {
  if (begins_anew(latest)) return;
  next_gradients_ += gradients_;
  if (epoch_samples_ > 0 && static_cast<double>(samples_) < patience_.passes * static_cast<double>(epoch_samples_)) return;
  refuse(readable_count(computed_) + " gradients", why);
}

void UpdateWatch::look_at_steps(const Node& node, const Weights& latest) {
  if (!begins_anew(latest)) refuse(readable_count(stepped_) + " steps of " + node.name(), {});
}

void PollWatch::refuse(const Node& node) const {
  throw Standstill(node.name() + " polls without time passing (" + readable_count(count_) + " polls at " +
                   format_quantity(at_.seconds(), Dimension::time) + "); wait for a message, or use a timer above 0");
}

}  // namespace straggler
