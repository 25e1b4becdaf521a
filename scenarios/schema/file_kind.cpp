#include "scenarios/schema/file_kind.hpp"

#include "scenarios/schema/source_text.hpp"

namespace straggler {
namespace {

struct KindOfFile {
  const char *key, *noun, *command, *beginning;
};
constexpr KindOfFile kinds[] = {
    {"straggler", "a scenario", "run", "a scenario begins with 'straggler: 1'"},
    {"sweep", "a sweep file", "sweep", "a sweep file begins with 'sweep: 1' and has a scenario (or base) and axes"},
    {"claim", "a claim", "validate", "a claim begins with 'claim: 1'"},
};

}  // namespace

bool is_of_another_kind(const YamlNode& root, FileKind wanted, const std::filesystem::path& file, Problems& problems) {
  const KindOfFile& own = kinds[static_cast<std::size_t>(wanted)];
  if (root.type != YamlNode::Type::map || root.find(own.key) != nullptr) return false;
  for (const KindOfFile& other : kinds) {
    if (root.find(other.key) == nullptr) continue;
    problems.add(whole_file, {},
                 std::string("is ") + other.noun + ", for `straggler " + other.command + " " +
                     (file == standard_input ? "-" : file.string()) + "`; " + own.beginning);
    return true;
  }
  return false;
}

}  // namespace straggler
