// The kinds that a scenario may name, group by group, and the parameters of each.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parameters.hpp"

namespace straggler {

struct DeviceSpec;
struct IntraSpec;

/// `cost_model`: values of `workload.cost.model`; `device`, `machine`: built-in ones; `layer`: lines of a network; `law`:
/// of durations.
enum class KindGroup {
  scheme,
  collective,
  topology,
  sharing,
  jitter,
  device,
  model,
  cost_model,
  data,
  partition,
  optimizer,
  schedule,
  compression,
  availability,
  machine,
  layer,
  law
};
/// The word for it in messages: "scheme", "data", …
std::string_view name_of(KindGroup group);

struct Word {
  std::string name, summary;
  DeclaredParameters parameters;
  // Schemes only.
  std::function<bool(const Parameters&)> needs_server;  // empty: never
  std::optional<std::int64_t> only_workers;
  // Devices only: puts every figure of the built-in device, and its name as `profile`, into a fresh DeviceSpec.
  std::function<void(DeviceSpec&)> fill = {};
  // Machines only: puts every figure of the built-in machine, and its name as `machine`, into a fresh IntraSpec.
  std::function<void(IntraSpec&)> fill_intra = {};
  // Schemes only: whether an update is a round; empty: always.
  std::function<bool(const Parameters&)> has_rounds = {};
};

struct Vocabulary {
  std::map<KindGroup, std::vector<Word>> words;

  const Word* find(KindGroup group, std::string_view name) const;
  std::vector<std::string> names(KindGroup group) const;
  /// Everything that is linked into this program.
  static const Vocabulary& from_registries();
};

}  // namespace straggler
