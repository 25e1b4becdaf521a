// What an import makes of its files, whatever they describe.
#pragma once
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/formats/given_file.hpp"

namespace straggler {

/// Hosts as a file of others describes them: what is in one, and its link to the next.
struct HostNetwork {
  std::string yaml;      // cluster.network, as topology.yaml has it
  std::size_t gpus = 0;  // of a host
  std::string machine;   // a built-in one that it is; empty: none
  std::string file;      // that describes it
};

struct Imported {
  std::string name;                                                 // a word, from the names of the files: for a folder
  std::vector<std::pair<std::string, std::string>> said;            // the summary: (label, sentence); equal labels stand together
  std::vector<std::pair<std::string, std::string>> files;           // (name, text) of what is written; import.json is one of them
  std::string next;                                                 // that of them which `straggler check` takes; empty: none
  std::function<Imported(const HostNetwork& hosts)> on_hosts = {};  // the same on such hosts; null: it cannot be, for off_hosts
  std::string off_hosts = "the other files give no job that runs";
};

/// The summary, in lines of at most 80 columns.
std::string import_text(const Imported& imported);

/// As the command line has it: "fused-attention".
std::string option_name(const std::string& parameter);

/// A scenario's name from a file's; for a file called by one of the `plain` words that of its folder, which says more.
std::string import_name(const GivenFile& file, std::initializer_list<std::string_view> plain);
/// Of several files that of their folder.
std::string import_name(const std::vector<GivenFile>& files, std::initializer_list<std::string_view> plain);
/// In quotes where YAML reads something else than a word.
std::string yaml_word(const std::string& name);
/// Text of others as part of one line: a comment, a field.
std::string on_one_line(std::string_view text);

/// The first line of every scenario.yaml of an import begins so.
inline constexpr const char* import_mark = "# Imported by straggler";

}  // namespace straggler
