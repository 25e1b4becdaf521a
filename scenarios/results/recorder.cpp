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

Recorder::Files::Files(const ResultFolder& folder, bool recovers)
    : order(open(folder, "order.csv",
                 recovers ? "update,time_s,worker,read_version,batch,steps,samples,lost\n"
                          : "update,time_s,worker,read_version,batch,steps,samples\n")),
      choices(open(folder, "choices.csv", "process,choice\n")) {}

Recorder::Recorder(const ResultFolder& folder, bool order, bool trace, bool recovers)
    : recovers_(recovers), epochs_(open(folder, "epochs.csv", epochs_header(recovers))) {
  if (order) files_.emplace(folder, recovers);
  if (trace) trace_.emplace();
}

void Recorder::contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t first_position,
                            std::uint32_t steps, std::uint64_t samples) {
  if (trace_) trace_->add_staleness(time, update - 1 - std::min(read_version, update - 1));
  const OrderRow row{update, time, worker, read_version, first_position, steps, samples};
  if (!recovers_)
    write(row, false);
  else if (files_)
    waiting_.push_back(row);
}

void Recorder::write(const OrderRow& row, bool lost) {
  if (!files_ || failed()) return;
  try {
    char* at = files_->order.row();
    at = write_count(at, row.update);
    *at++ = ',';
    at = write_seconds(at, row.time);
    for (const std::uint64_t cell :
         {std::uint64_t{index_of(row.worker)}, row.read_version, row.first_position, std::uint64_t{row.steps}, row.samples}) {
      *at++ = ',';
      at = write_count(at, cell);
    }
    if (recovers_) {
      *at++ = ',';
      *at++ = lost ? '1' : '0';
    }
    *at++ = '\n';
    files_->order.advance(at);
  } catch (const ResultsError&) {
    error_ = std::current_exception();
  }
}

void Recorder::decide(std::uint64_t update, bool later_ones_too) {
  std::vector<OrderRow> later;
  for (const OrderRow& row : waiting_) {
    if (row.update > update && !later_ones_too)
      later.push_back(row);
    else
      write(row, row.update > update);
  }
  waiting_ = std::move(later);
}

void Recorder::kept(std::uint64_t update) { decide(update, false); }
void Recorder::rolled_back(std::uint64_t update) { decide(update, true); }

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
    write_epoch(epoch, recovers_, epochs_);
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
  decide(~std::uint64_t{0}, true);
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
