#include "scenarios/results/recorder.hpp"

#include <algorithm>
#include <string_view>

#include "scenarios/results/tables.hpp"
#include "scenarios/results/text.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

OutFile open(const ResultFolder& folder, const char* file, std::string_view header) {
  return OutFile(folder.temporary(file), folder.shown(file), header);
}

}  // namespace

Recorder::Files::Files(const ResultFolder& folder)
    : order(open(folder, "order.csv", "update,time_s,worker,read_version,batch,steps,samples\n")),
      choices(open(folder, "choices.csv", "process,choice\n")) {}

Recorder::Recorder(const ResultFolder& folder, bool order, bool trace) : epochs_(open(folder, "epochs.csv", epochs_header())) {
  if (order) files_.emplace(folder);
  if (trace) trace_.emplace();
}

void Recorder::contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t first_position,
                            std::uint32_t steps, std::uint64_t samples) {
  if (trace_) trace_->add_staleness(time, update - 1 - std::min(read_version, update - 1));
  if (!files_ || failed()) return;
  try {
    char* at = files_->order.row();
    at = write_count(at, update);
    *at++ = ',';
    at = write_seconds(at, time);
    for (const std::uint64_t cell : {std::uint64_t{index_of(worker)}, read_version, first_position, std::uint64_t{steps}, samples}) {
      *at++ = ',';
      at = write_count(at, cell);
    }
    *at++ = '\n';
    files_->order.advance(at);
  } catch (const ResultsError&) {
    error_ = std::current_exception();
  }
}

void Recorder::choice(Rank process, std::int32_t choice) {
  if (!files_ || failed()) return;
  try {
    char* at = files_->choices.row();
    at = write_count(at, index_of(process));
    *at++ = ',';
    at = write_decimal<0>(at, choice);
    *at++ = '\n';
    files_->choices.advance(at);
  } catch (const ResultsError&) {
    error_ = std::current_exception();
  }
}

bool Recorder::epoch(const EpochRecord& epoch) {
  if (failed()) return true;
  try {
    write_epoch(epoch, epochs_);
  } catch (const ResultsError&) {
    error_ = std::current_exception();
  }
  return true;
}

void Recorder::span(Rank worker, Phase phase, Time start, Time end) {
  if (trace_) trace_->add(worker, phase, start, end);
}

void Recorder::message(const MessageTrace& message) {
  if (trace_) trace_->add(message);
}
void Recorder::collective(const CollectiveTrace& collective) {
  if (trace_) trace_->add(collective);
}
void Recorder::served(Rank rank, const char* what, Time start, Time end) {
  if (trace_) trace_->add_served(rank, what, start, end);
}
void Recorder::links(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) {
  if (trace_) trace_->add_links(now, count, bytes_of);
}

void Recorder::finish(const ResultFolder& folder, std::string_view name, const RunRecord* record) {
  if (failed()) std::rethrow_exception(error_);
  epochs_.close();
  if (files_) {
    files_->order.close();
    files_->choices.close();
  }
  if (!trace_) return;
  OutFile file(folder.temporary("trace.json"), folder.shown("trace.json"));
  trace_->write(file, name, record);
  file.close();
}

std::string Recorder::trace_note() const {
  if (!trace_ || trace_->stride() == 1) return {};
  return fmt::format("trace.json holds {} of {} events: every {}th window of consecutive events; the others are left out",
                     readable_count(trace_->kept()), readable_count(trace_->seen()), trace_->stride());
}

}  // namespace straggler
