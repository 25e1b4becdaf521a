// `straggler list models NAME --yaml`.
#pragma once
#include <string>

namespace straggler::cli {

/// Prints a built-in model as `kind: layers` has it. Throws UsageError if it is not one of layers.
void print_layers(const std::string& name);

}  // namespace straggler::cli
