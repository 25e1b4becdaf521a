#include "scenarios/schema/other_names.hpp"

#include <algorithm>

#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

/// In lower case and without separators, as `bare` leaves a key. `ours`: a path, whose last part is the key.
struct OtherName {
  std::string_view other, ours;
};
constexpr OtherName other_names[] = {
    {"lr", "training.optimizer.learning_rate"},
    {"learningrate", "training.optimizer.learning_rate"},
    {"stepsize", "training.optimizer.learning_rate"},
    {"momentum", "training.optimizer.momentum"},
    {"wd", "training.optimizer.weight_decay"},
    {"weightdecay", "training.optimizer.weight_decay"},
    {"bs", "training.batch.per_worker"},
    {"batchsize", "training.batch.per_worker"},
    {"epochs", "training.stop.epochs"},
    {"hidden", "workload.model.hidden"},
    {"numworkers", "cluster.workers[0].count"},
    {"nworkers", "cluster.workers[0].count"},
};

std::string bare(std::string_view key) {
  std::string out;
  for (const char c : key.substr(0, 32))
    if (c != '_' && c != '-') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view path_elsewhere(std::string_view key) {
  const std::string name = bare(key);
  for (const OtherName& one : other_names)
    if (one.other == name) return one.ours;
  return {};
}

std::string_view section_of(std::string_view path) { return path.substr(0, path.rfind('.')); }

}  // namespace

std::string meant_key(std::string_view key, const std::vector<std::string>& known) {
  const std::string_view path = path_elsewhere(key);
  const std::string_view ours = path.substr(path.rfind('.') + 1);
  if (!path.empty() && std::find(known.begin(), known.end(), ours) != known.end()) return std::string(ours);
  return nearest_name(key, known);
}

std::string unknown_key(std::string_view key, const std::vector<std::string>& known, std::string_view section) {
  std::string meant = meant_key(key, known);
  if (!meant.empty()) meant = "'" + meant + "'";
  const std::string_view path = path_elsewhere(key);
  // A kind that does not know it stands in the right section.
  if (meant.empty() && !path.empty() && !section.ends_with(section_of(path))) meant = path;
  return "unknown key " + in_quotes(key) + (meant.empty() ? ";" : "; did you mean " + meant + "?") +
         " known: " + (known.empty() ? "none" : joined(known));
}

}  // namespace straggler
