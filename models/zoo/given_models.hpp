// Models that exist in this process alone, as those in Python do: `workload.model: {kind: python, name, version}`.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "models/zoo/model.hpp"

namespace straggler {

struct GivenModel {
  std::string name, version;
  /// Throws std::invalid_argument if it does not fit the data.
  std::function<std::unique_ptr<Model>(const DataInfo&, const ModelSetting&)> make;
  /// Names its code and its initial weights for that seed.
  std::function<Key(std::uint64_t seed)> content;
  const void* object = nullptr;  // two that are one object cannot be used by two threads
  /// The thread that made this calls the model for all others. False: that thread alone uses it.
  bool for_all = false;
  std::thread::id thread = std::this_thread::get_id();
};

/// While it lives, scenarios find the model by its name and version. Thread-safe.
class GivenModelInUse {
 public:
  /// Throws std::runtime_error where another thread uses this object, or where models of this name and version are used for all threads.
  explicit GivenModelInUse(GivenModel model);
  ~GivenModelInUse();
  GivenModelInUse(const GivenModelInUse&) = delete;

 private:
  std::shared_ptr<const GivenModel> model_;
};

/// This thread's, or the one that is for all. Throws std::invalid_argument: it is not given.
std::shared_ptr<const GivenModel> given_model(const Parameters& parameters);

}  // namespace straggler
