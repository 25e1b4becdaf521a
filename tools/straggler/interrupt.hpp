// Ctrl-C and termination: the first signal asks the run to end, a later one ends the process.
#pragma once

namespace straggler::cli {

/// From now on SIGINT and SIGTERM are noted; another one at least a second after the first kills the process. (timeout(1) signals its child
/// and its group, so one request can arrive twice.)
void catch_interrupts();
bool interrupt_requested();
/// Acts as if a signal had arrived.
void request_interrupt();

}  // namespace straggler::cli
