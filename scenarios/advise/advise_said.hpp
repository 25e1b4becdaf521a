// What `straggler advise` says, in sentences of parts.
#pragma once
#include <vector>

#include "scenarios/advise/advise.hpp"
#include "scenarios/statistics/said.hpp"

namespace straggler {

/// What binds the job.
Said binding_said(const Advice& advice);
/// The best three, what they do together, what would not help, and what the files leave open.
std::vector<Said> advise_said(const Advice& advice);
/// Of a folder whose files describe no job: the rank that others wait for. Empty: they tell nothing.
std::vector<Said> facts_said(const ImportFacts& facts);

/// Of files that describe no job: what their import.json tells. Throws DataError if that is nothing.
Advice advise_on_figures(const std::filesystem::path& import_json);

}  // namespace straggler
