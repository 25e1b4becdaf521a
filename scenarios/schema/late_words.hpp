// Kinds that are registered while the program runs.
#pragma once

namespace straggler {

/// Vocabulary::from_registries() reads the registries again. No reader may be at work.
void registries_have_changed();

}  // namespace straggler
