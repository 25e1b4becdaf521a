// What an import makes of its files, whatever they describe.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace straggler {

struct Imported {
  std::string name;                                        // a word, from the names of the files: for a folder
  std::vector<std::pair<std::string, std::string>> said;   // the summary: (label, sentence); equal labels stand together
  std::vector<std::pair<std::string, std::string>> files;  // (name, text) of what is written; import.json is one of them
  std::string next;                                        // that of them which `straggler check` takes; empty: none
};

/// The summary, in lines of at most 80 columns.
std::string import_text(const Imported& imported);

/// As the command line has it: "fused-attention".
std::string option_name(const std::string& parameter);

/// The first line of every scenario.yaml of an import begins so.
inline constexpr const char* import_mark = "# Imported by straggler";

}  // namespace straggler
