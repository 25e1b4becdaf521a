// A claim that predicts another run than the one that was imported: with another batch, or on another number of ranks.
#pragma once
#include <string>

#include "scenarios/import/imported.hpp"

namespace straggler {

/// Replaces the claim of `imported` and its table by those that predict the step of `held`, an import of the same format. `named`: its
/// files. Throws DataError where `held` says no step.
void hold_out(Imported& imported, const Imported& held, const std::string& named);

}  // namespace straggler
