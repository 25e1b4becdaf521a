// Checkpoints of a run beside its results: their folder, their options, their messages.
#pragma once
#include <filesystem>
#include <string>

#include "scenarios/experiment/run_options.hpp"

namespace straggler {

/// "10min" of wall-clock time, or "5000" updates. Throws std::invalid_argument with the remedy.
CheckpointInterval checkpoint_interval(const std::string& given);

/// Beside the folder of the results: DIR.checkpoint; of the program of this version and compiler. Throws std::invalid_argument if something
/// else is there.
CheckpointRequest checkpoint_beside(const std::filesystem::path& out, const std::string& version, const std::string& compiler);

/// A sentence.
std::string checkpoint_text(const CheckpointNote& note, const std::filesystem::path& file);

/// The results are written: nothing is left to continue from, unless the run was broken off. True: it is kept.
bool finish_checkpoint(const std::filesystem::path& file, bool interrupted);

}  // namespace straggler
