// Ends a run on request.
#pragma once
#include <functional>

#include "scenarios/experiment/experiment.hpp"

namespace straggler {

class Watch final : public ProgressListener {
 public:
  /// `ends` may be empty, and outlives this.
  explicit Watch(const std::function<bool()>& ends) : ends_(ends) {}
  void progress(const State&) override {}
  bool interrupted() override { return ends_ && ends_(); }

 private:
  const std::function<bool()>& ends_;
};

}  // namespace straggler
