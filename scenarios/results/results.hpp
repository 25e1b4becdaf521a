// All output of `run`, except the files that Recorder streams.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/zoo/model.hpp"
#include "scenarios/results/result_folder.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// `text` as a file of the folder. Throws ResultsError.
void write_file(const ResultFolder& folder, const std::string& file, std::string_view text);
/// The parts, one after another.
void write_file(const ResultFolder& folder, const std::string& file, std::initializer_list<std::string_view> parts);

/// model.safetensors, and vocabulary.txt where the weights are vectors of words. Throws ResultsError.
void write_model(const ResultFolder& folder, const std::vector<TensorInfo>& tensors, const std::vector<float>& values,
                 const WordList* vocabulary = nullptr);

/// Which of the tables that grow with the cluster or the run are written. All others always are.
struct KeptTables {
  bool order = true;  // order.csv and choices.csv: a row per update
  bool workers = true, links = true, staleness = true;
  bool page = true;  // report.html, for which the timing is simulated again
};

/// summary.json and the tables that follow from the record. Throws ResultsError.
void write_record(const ResultFolder& folder, const RunRecord& record, const KeptTables& kept = {});

}  // namespace straggler
