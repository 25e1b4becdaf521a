// The kind of a YAML file of this program, recognized by one of its keys: a scenario, a sweep, a claim.
#pragma once
#include <cstdint>
#include <filesystem>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/schema/yaml_tree.hpp"

namespace straggler {

enum class FileKind : std::uint8_t { scenario, sweep, claim };

/// True: the file is of another kind than `wanted`, and a problem names the command that takes it.
bool is_of_another_kind(const YamlNode& root, FileKind wanted, const std::filesystem::path& file, Problems& problems);

/// True: the file has another version of the format than this program reads. A problem says so, and any other would be about a format that
/// this program does not know.
bool is_of_another_version(Section& top, FileKind kind);

}  // namespace straggler
