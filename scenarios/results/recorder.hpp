// Streams long tables into the files of a result folder during the run.
#pragma once
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/trace.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Writes epochs.csv during the run, order.csv and choices.csv too, and trace.json at the end, if requested. It is called from within the
/// simulation and therefore never throws: the first error is kept, later output is dropped, and finish() throws the error.
class Recorder final : public RecordSink {
 public:
  /// `recovers`: the run may be rolled back, or has failures at random (RunRecord::recovery).
  Recorder(const ResultFolder& folder, bool order, bool trace, bool recovers = false);

  void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t first_position,
                    std::uint32_t steps, std::uint64_t samples) override;
  void kept(std::uint64_t update) override;
  void rolled_back(std::uint64_t update) override;
  void choice(Rank process, std::int32_t choice) override;
  bool epoch(const EpochRecord& epoch) override;
  void span(Rank worker, Phase phase, Time start, Time end) override;
  void message(const MessageTrace& message) override;
  void collective(const CollectiveTrace& collective) override;
  void served(Rank rank, const char* what, Time start, Time end) override;
  void links(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) override;

  /// A file could not be written: going on is pointless.
  bool failed() const { return error_ != nullptr; }
  /// Completes the files, and the trace with the data of `record`, which may be null. Throws ResultsError.
  void finish(const ResultFolder& folder, std::string_view name, const RunRecord* record = nullptr);
  /// Says so if events were left out of the trace; empty otherwise.
  std::string trace_note() const;

 private:
  struct Files {
    Files(const ResultFolder& folder, bool recovers);
    OutFile order, choices;
  };
  /// A row of order.csv that a rollback may lose.
  struct OrderRow {
    std::uint64_t update;
    Time time;
    Rank worker;
    std::uint64_t read_version, first_position;
    std::uint32_t steps;
    std::uint64_t samples;
  };
  void write(const OrderRow& row, bool lost);
  /// Those that wait, up to that update as kept, later ones as lost.
  void decide(std::uint64_t update, bool later_ones_too);
  const bool recovers_;
  std::vector<OrderRow> waiting_;  // of versions that may be lost
  OutFile epochs_;
  std::optional<Files> files_;
  std::optional<TraceSampler> trace_;
  std::exception_ptr error_;
};

}  // namespace straggler
