// One reader per format.
#pragma once
#include <filesystem>
#include <string>

#include "validation/calibrate/measured.hpp"
#include "validation/tables/csv_table.hpp"

namespace straggler {

/// `bytes,seconds`: half the round trip of a ping-pong, one or more rows per size. With a column `mode`, only rows with `ping_pong` are
/// times of one message (others: one way in a row, both ways at once).
MessageTimes read_ping_pong(const CsvTable& table);
/// `batch,seconds`, and optionally `device,model,precision,iqr_s,memory_bytes`.
BatchTimes read_batch_times(const CsvTable& table);

bool is_nccl_tests(const std::string& text);
/// Output of all_reduce_perf (as a ring) or sendrecv_perf; times out of place. https://github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md
MessageTimes read_nccl_tests(const std::string& text, const std::filesystem::path& file);

bool is_osu(const std::string& text);
/// Output of osu_latency: one-way times in microseconds. https://mvapich.cse.ohio-state.edu/benchmarks/
MessageTimes read_osu_latency(const std::string& text, const std::filesystem::path& file);

}  // namespace straggler
