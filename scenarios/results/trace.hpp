// Events of a run as Chrome trace events (https://ui.perfetto.dev opens them), of bounded number.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "scenarios/results/link_samples.hpp"
#include "scenarios/results/out_file.hpp"
#include "sim/record/record.hpp"

namespace straggler {

/// Keeps at most `limit` events, by a rule that depends on nothing but their order: events are numbered in order, `window` consecutive
/// numbers make a window, and every k-th window is kept whole, k being the smallest power of two that suffices. Whole windows, because a
/// trace is read for the simultaneous activities of workers.
class TraceSampler {
 public:
  static constexpr std::size_t most_events = 1'000'000;  // beside those of counters
  static constexpr std::size_t most_names = 1'000;       // workers that get a name; the others show their number
  explicit TraceSampler(std::size_t limit = most_events - most_names - 8, std::size_t window = 4096);

  /// Spans without a length are left out.
  void add(Rank worker, Phase phase, Time start, Time end);
  void add(const MessageTrace& message);
  void add(const CollectiveTrace& collective);
  /// A server or aggregator is busy.
  void add_served(Rank rank, const char* what, Time start, Time end);
  /// A contribution is applied: how many versions its weights were behind.
  void add_staleness(Time time, std::uint64_t staleness);
  void add_links(Time now, std::size_t count, const std::function<double(std::size_t)>& bytes_of) { links_.add(now, count, bytes_of); }

  /// Spans of workers, messages, collectives, spans of servers and contributions, numbers of events in total and of kept ones.
  std::uint64_t seen() const { return seen_; }
  std::size_t kept() const;
  std::uint64_t stride() const { return stride_; }
  /// trace.json: times in microseconds, exact. Process 0: a thread per worker and server; 1: messages; 2: collectives; 3: counters.
  /// `record` may be null: without it there are no counters of accuracy and of links, and a server is named like a worker.
  void write(OutFile& file, std::string_view name, const RunRecord* record = nullptr) const;

 private:
  static constexpr std::size_t most_traced_links = 8;
  struct Span {
    std::uint64_t number;
    Time start, length;
    Rank worker;
    Phase phase;
  };
  struct Message {
    std::uint64_t number;
    MessageTrace what;
  };
  struct Collective {
    std::uint64_t number;
    CollectiveTrace what;
  };
  struct Served {
    std::uint64_t number;
    Rank rank;
    const char* what;
    Time start, length;
  };
  struct Staleness {
    std::uint64_t number, value;
    Time time;
  };
  /// True: the current item is kept; it takes this many events.
  bool keeps(std::size_t events);
  void halve();
  void write_names(OutFile& file, const RunRecord* record) const;
  void write_counters(OutFile& file, const RunRecord& record) const;

  std::size_t limit_, window_, events_ = 0;
  std::uint64_t stride_ = 1, seen_ = 0;
  // Of whole windows 0, stride, 2 stride, …, and the current one so far:
  std::vector<Span> spans_;
  std::vector<Message> messages_;
  std::vector<Collective> collectives_;
  std::vector<Served> served_;
  std::vector<Staleness> stalenesses_;
  LinkSamples links_;
};

}  // namespace straggler
