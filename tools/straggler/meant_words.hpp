// Words of the field for what the command line calls otherwise: commands, groups of `list`, frameworks of `init`. Names in a scenario have
// theirs in scenarios/schema/other_names.hpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler::cli {

enum class WordKind { command, group, framework };

/// "run" for the command "train", "collectives" for the group "allreduce", "ddp" for the framework "pytorch"; empty: not known.
std::string meant_word(WordKind kind, std::string_view word);
/// As unknown_name (sim/base/suggest.hpp), with the meant word where it is known.
std::string unknown_word(WordKind kind, std::string_view word, const std::vector<std::string>& known, std::string_view all = {});

}  // namespace straggler::cli
