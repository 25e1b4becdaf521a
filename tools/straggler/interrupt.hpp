// Ctrl-C and termination: the first asks the run to end, the second ends the process.
#pragma once

namespace straggler::cli {

/// From now on SIGINT and SIGTERM are noted; a second one kills.
void catch_interrupts();
bool interrupt_requested();

}  // namespace straggler::cli
