// Random networks that evolve in time, run by the engine and by the textbook.
#pragma once
#include <cstdint>

/// Largest difference of a completion time in seconds over the open-loop instances `first` .. `first + number - 1`; checks on the way.
double compare_open_loop(std::uint32_t first, std::uint32_t number, bool volumes, bool buckets);
/// Largest relative difference of a rate over closed-loop instances: arrivals start and cancel flows; checks on the way.
double compare_closed_loop(std::uint32_t first, std::uint32_t number, bool volumes);
