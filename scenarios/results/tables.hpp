// The tables of a result folder (docs/scenario.md lists their columns). Cells that do not apply are empty; diverged values are written as
// nan or inf. All throw ResultsError if the file cannot be written.
#pragma once
#include <string>

#include "scenarios/results/out_file.hpp"
#include "sim/record/record.hpp"

namespace straggler {

void write_curve(const RunRecord& record, OutFile& file);
void write_recovery(const RunRecord& record, OutFile& file);
void write_thresholds(const RunRecord& record, OutFile& file);
void write_staleness(const RunRecord& record, OutFile& file);
void write_epochs(const RunRecord& record, OutFile& file);
std::string epochs_header(bool recovers);
void write_epoch(const EpochRecord& epoch, bool recovers, OutFile& file);
void write_workers(const RunRecord& record, OutFile& file);
/// `utilization`: bytes carried / the link's capacity in bytes over the whole simulated time.
void write_links(const RunRecord& record, OutFile& file);

}  // namespace straggler
