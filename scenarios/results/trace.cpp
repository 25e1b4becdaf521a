#include "scenarios/results/trace.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "scenarios/results/text.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

enum ProcessId { ranks = 0, messages = 1, collectives = 2, counters = 3 };
constexpr std::size_t events_of_message = 4, events_of_collective = 2;  // two of a flow and two of a bar; two of a bar

/// One event, whose members are added one by one.
class TraceEvent {
 public:
  TraceEvent(OutFile& file, std::string_view phase, int process) : file_(file), at_(file.row()) {
    put(",\n{\"ph\":\"");
    put(phase);
    put("\",\"pid\":");
    at_ = write_count(at_, static_cast<std::uint64_t>(process));
  }
  ~TraceEvent() {
    put("}");
    file_.advance(at_);
  }
  TraceEvent(const TraceEvent&) = delete;
  TraceEvent& operator=(const TraceEvent&) = delete;
  TraceEvent& name(std::string_view plain) {
    put(",\"name\":\"");
    put(plain);
    put("\"");
    return *this;
  }
  TraceEvent& count(std::string_view key, std::uint64_t value) {
    put(",\"");
    put(key);
    put("\":");
    at_ = write_count(at_, value);
    return *this;
  }
  TraceEvent& thread(Rank rank) { return count("tid", index_of(rank)); }
  TraceEvent& time(std::string_view key, Time time) {
    put(",\"");
    put(key);
    put("\":");
    at_ = write_decimal<6>(at_, time.ticks());
    return *this;
  }
  TraceEvent& raw(std::string_view text) {
    put(text);
    return *this;
  }

 private:
  void put(std::string_view text) { at_ = std::copy(text.begin(), text.end(), at_); }
  OutFile& file_;
  char* at_;
};

std::string rank_name(Rank rank, const RunRecord* record) {
  if (!record || index_of(rank) < record->workers.size()) return fmt::format("worker {}", rank);
  const std::size_t behind = index_of(rank) - record->workers.size();
  return behind == 0 ? std::string("server") : fmt::format("server or aggregator {}", behind);
}

}  // namespace

TraceSampler::TraceSampler(std::size_t limit, std::size_t window) : limit_(limit), window_(window) {
  if (window == 0 || limit < 2 * window) throw std::logic_error("a trace must have room for two windows");
}

std::size_t TraceSampler::kept() const {
  return spans_.size() + messages_.size() + collectives_.size() + served_.size() + stalenesses_.size();
}

bool TraceSampler::keeps(std::size_t events) {
  const std::uint64_t number = seen_++;
  if ((number / window_) % stride_ != 0) return false;
  while (events_ + events > limit_ && stride_ <= seen_) {
    halve();
    if ((number / window_) % stride_ != 0) return false;
  }
  events_ += events;
  return true;
}

void TraceSampler::halve() {
  stride_ *= 2;
  const auto thin = [&](auto& list) { std::erase_if(list, [&](const auto& each) { return (each.number / window_) % stride_ != 0; }); };
  thin(spans_);
  thin(messages_);
  thin(collectives_);
  thin(served_);
  thin(stalenesses_);
  events_ = spans_.size() + events_of_message * messages_.size() + events_of_collective * collectives_.size() + served_.size() +
            stalenesses_.size();
}

void TraceSampler::add(Rank worker, Phase phase, Time start, Time end) {
  if (end > start && keeps(1)) spans_.push_back({seen_ - 1, start, end - start, worker, phase});
}
void TraceSampler::add(const MessageTrace& message) {
  if (keeps(events_of_message)) messages_.push_back({seen_ - 1, message});
}
void TraceSampler::add(const CollectiveTrace& collective) {
  if (keeps(events_of_collective)) collectives_.push_back({seen_ - 1, collective});
}
void TraceSampler::add_served(Rank rank, const char* what, Time start, Time end) {
  if (end > start && keeps(1)) served_.push_back({seen_ - 1, rank, what, start, end - start});
}
void TraceSampler::add_staleness(Time time, std::uint64_t staleness) {
  if (keeps(1)) stalenesses_.push_back({seen_ - 1, staleness, time});
}

void TraceSampler::write_names(OutFile& file, const RunRecord* record) const {
  static constexpr std::pair<ProcessId, const char*> processes[] = {
      {messages, "messages"}, {collectives, "collectives"}, {counters, "counters"}};
  const bool any[] = {!messages_.empty(), !collectives_.empty(), !stalenesses_.empty() || record};
  for (std::size_t i = 0; i < std::size(processes); ++i)
    if (any[i])
      file.print(",\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                 static_cast<int>(processes[i].first), processes[i].second);
  std::set<Rank> named;
  const auto name = [&](Rank rank) {
    if (named.size() < most_names && named.insert(rank).second)
      file.print(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}", rank,
                 rank_name(rank, record));
  };
  for (const Span& span : spans_) name(span.worker);
  for (const Served& served : served_) name(served.rank);
  for (const Message& message : messages_) name(message.what.to);
}

void TraceSampler::write_counters(OutFile& file, const RunRecord& record) const {
  for (const CurvePoint& point : record.curve)
    if (point.test_accuracy)
      TraceEvent(file, "C", counters)
          .name("test accuracy")
          .time("ts", point.time)
          .raw(fmt::format(",\"args\":{{\"value\":{:.6g}}}", *point.test_accuracy));
  if (links_.times().size() < 2) return;
  for (const std::size_t link : busiest_links(record.links, record.end, most_traced_links)) {
    const auto column = std::find(links_.links().begin(), links_.links().end(), link);
    if (column == links_.links().end()) continue;
    const auto at = static_cast<std::size_t>(column - links_.links().begin());
    const LinkRecord row = record.links.row(link);
    const std::string name = json_text("share of link " + row.name);
    for (std::size_t i = 0; i + 1 < links_.times().size(); ++i) {
      const double seconds = (links_.times()[i + 1] - links_.times()[i]).seconds();
      const double share = (links_.bytes()[i + 1][at] - links_.bytes()[i][at]) / (seconds * row.bytes_per_second);
      file.print(",\n{{\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":{:.6f},\"args\":{{\"value\":{:.4g}}}}}", static_cast<int>(counters), name,
                 1e6 * links_.times()[i].seconds(), share);
    }
  }
}

void TraceSampler::write(OutFile& file, std::string_view name, const RunRecord* record) const {
  file.print("{{\"displayTimeUnit\": \"ms\",\n\"otherData\": {{\"seen\": {}, \"kept\": {}, \"sampling\": ", seen_, kept());
  if (stride_ == 1)
    file.write("\"none\"");
  else
    file.print("\"every {}th window of {} consecutive events is kept, the others are left out\"", stride_, window_);
  file.write("},\n\"traceEvents\": [\n");
  file.print("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{{\"name\":{}}}}}", json_text(name));
  write_names(file, record);
  for (const Span& span : spans_)
    TraceEvent(file, "X", ranks).name(name_of(span.phase)).thread(span.worker).time("ts", span.start).time("dur", span.length);
  for (const Served& served : served_)
    TraceEvent(file, "X", ranks).name(served.what).thread(served.rank).time("ts", served.start).time("dur", served.length);
  for (const auto& numbered : messages_) {  // clang 14 lets no lambda capture a name of a structured binding
    const auto number = numbered.number;
    const auto& message = numbered.what;
    const auto bar = [&](const char* phase, Time time) {
      TraceEvent(file, phase, messages)
          .name(message.what)
          .raw(",\"cat\":\"message\"")
          .thread(message.from)
          .count("id", number)
          .time("ts", time)
          .raw(fmt::format(",\"args\":{{\"to\":\"{}\",\"size\":\"{}\",\"version\":{}{}}}", rank_name(message.to, record),
                           readable_bytes(static_cast<double>(message.bytes)),
                           message.version ? fmt::format("{}", *message.version) : "null", message.lost ? ",\"lost\":true" : ""));
    };
    bar("b", message.sent);
    bar("e", message.arrived);
    if (message.lost) continue;
    TraceEvent(file, "s", ranks)
        .name(message.what)
        .raw(",\"cat\":\"message\"")
        .thread(message.from)
        .count("id", number)
        .time("ts", message.sent);
    TraceEvent(file, "f", ranks)
        .name(message.what)
        .raw(",\"cat\":\"message\",\"bp\":\"e\"")
        .thread(message.to)
        .count("id", number)
        .time("ts", message.arrived);
  }
  for (const auto& numbered : collectives_) {
    const auto number = numbered.number;
    const auto& collective = numbered.what;
    const auto bar = [&](const char* phase, Time time) {
      TraceEvent(file, phase, collectives)
          .name(collective.pieces > 1 ? fmt::format("{}, piece {} of {}", collective.what, collective.piece + 1, collective.pieces)
                                      : std::string(collective.what))
          .raw(",\"cat\":\"collective\",\"tid\":0")
          .count("id", number)
          .time("ts", time)
          .raw(fmt::format(",\"args\":{{\"size\":\"{}\",\"bytes\":{},\"workers\":{},\"waited_for\":{}}}",
                           readable_bytes(static_cast<double>(collective.bytes)), collective.bytes, collective.members,
                           collective.waited_for ? fmt::format("\"{}\"", rank_name(*collective.waited_for, record)) : "null"));
    };
    bar("b", collective.start);
    bar("e", collective.end);
  }
  for (const Staleness& each : stalenesses_)
    TraceEvent(file, "C", counters).name("staleness").time("ts", each.time).raw(fmt::format(",\"args\":{{\"value\":{}}}", each.value));
  if (record) write_counters(file, *record);
  file.write("\n]}\n");
}

}  // namespace straggler
