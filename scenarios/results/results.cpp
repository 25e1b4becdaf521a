#include "scenarios/results/results.hpp"

#include <future>

#include "models/data/word_list.hpp"
#include "models/safetensors/safetensors.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/results/tables.hpp"

namespace straggler {

void write_file(const ResultFolder& folder, const std::string& file, std::string_view text) { write_file(folder, file, {text}); }

void write_file(const ResultFolder& folder, const std::string& file, std::initializer_list<std::string_view> parts) {
  OutFile out(folder.temporary(file), folder.shown(file));
  for (const std::string_view part : parts) out.write(part);
  out.close();
}

void write_model(const ResultFolder& folder, const std::vector<TensorInfo>& tensors, const std::vector<float>& values,
                 const WordList* vocabulary) {
  if (vocabulary) write_file(folder, "vocabulary.txt", vocabulary_text(*vocabulary));
  const std::string file = "model.safetensors";
  try {
    write_safetensors(folder.temporary(file), tensors, values);
  } catch (const DataError& error) {
    std::string message = error.what();  // names the file where it is for now
    const std::string now = folder.temporary(file).string();
    if (const std::size_t at = message.find(now); at != std::string::npos) message.replace(at, now.size(), folder.shown(file));
    std::error_code unknown;
    const std::filesystem::space_info room = std::filesystem::space(folder.temporary(""), unknown);
    if (!unknown && room.available < values.size() * sizeof(float)) throw DiskError(message);
    throw ResultsError(message);
  }
}

void write_record(const ResultFolder& folder, const RunRecord& record, const KeptTables& kept) {
  const auto table = [&](const std::string& file, void (*write)(const RunRecord&, OutFile&)) {
    OutFile out(folder.temporary(file), folder.shown(file));
    write(record, out);
    out.close();
  };
  // As large as all others together; they are written side by side.
  std::future<void> links;
  if (kept.links) links = std::async(std::launch::async, table, "links.csv", write_links);
  table("curve.csv", write_curve);
  table("thresholds.csv", write_thresholds);
  if (kept.staleness) table("staleness.csv", write_staleness);
  if (!record.epochs_record.empty()) table("epochs.csv", write_epochs);  // else the Recorder has written it
  if (kept.workers) table("workers.csv", write_workers);
  if (record.recovery.there) table("recovery.csv", write_recovery);
  write_file(folder, "summary.json", summary_json(summarize(record)));
  if (kept.links) links.get();
}

}  // namespace straggler
