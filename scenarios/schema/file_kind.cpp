#include "scenarios/schema/file_kind.hpp"

#include <string>

#include "scenarios/schema/source_text.hpp"
#include "sim/base/format_version.hpp"

namespace straggler {
namespace {

struct KindOfFile {
  const char* key;
  int version;
  const char *noun, *command, *beginning;
};
constexpr KindOfFile kinds[] = {
    {"straggler", FormatVersion::scenario, "a scenario", "run", "a scenario begins with 'straggler: 1'"},
    {"sweep", FormatVersion::sweep, "a sweep file", "sweep", "a sweep file begins with 'sweep: 1' and has a scenario (or base) and axes"},
    {"claim", FormatVersion::claim, "a claim", "validate", "a claim begins with 'claim: 1'"},
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

bool is_of_another_version(Section& top, FileKind kind) {
  const KindOfFile& own = kinds[static_cast<std::size_t>(kind)];
  const std::string number = std::to_string(own.version);
  const YamlNode* const found = top.require(own.key, std::string("write '") + own.key + ": " + number + "', the version of the format");
  if (found == nullptr) return false;
  const bool right = found->type == YamlNode::Type::scalar && found->text == number;
  if (right && !found->quoted) return false;
  top.context().problems.add(found->place, own.key,
                             right ? "is text in quotes; write " + number + ", without quotes"
                                   : "is " + what_stands(*found) + "; this program reads version " + number + " of the format only");
  return !right;
}

}  // namespace straggler
