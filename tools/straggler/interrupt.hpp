// Ctrl-C and termination: the first asks the run to end, a later one ends the process.
#pragma once

namespace straggler::cli {

/// From now on SIGINT and SIGTERM are noted; another one that comes at least a second after the first kills. (timeout(1) signals its child
/// and its group, so one request can arrive twice.)
void catch_interrupts();
bool interrupt_requested();
/// As if a signal had come.
void request_interrupt();

}  // namespace straggler::cli
