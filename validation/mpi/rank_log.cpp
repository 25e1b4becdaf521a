#include "validation/mpi/rank_log.hpp"

#include <algorithm>
#include <map>

namespace straggler {

namespace {

/// A Packer writes them, and an Unpacker reads them.
template <class Way, class Log>
void totals(Way& way, Log& log) {
  way.each(log.samples_drawn, log.events, log.overruns.gradients, log.overruns.late, log.overruns.ticks, log.overruns.worst);
}

}  // namespace

Bytes to_bytes(const RankLog& log) {
  Packer to;
  totals(to, log);
  to.put(std::uint8_t{log.interrupted});
  to.put_list(log.choices);
  to.put_list(log.entries);
  return to.take();
}

RankLog log_from(std::span<const std::byte> bytes) {
  Unpacker from(bytes);
  RankLog log;
  totals(from, log);
  log.interrupted = from.get<std::uint8_t>() != 0;
  from.get_list(log.choices);
  from.get_list(log.entries);
  return log;
}

namespace {

struct LoggedMessage {
  std::int64_t sent = 0, arrived = -1;
  std::uint64_t bytes = 0;
  double spared = 0;
  bool statistics = false;
};
/// The k-th message from a to b is the k-th that b receives from a. Despite clock errors, it is booked to arrive no earlier than it was
/// sent, and a rank's drops no earlier than the arrivals before them.
struct Messages {
  std::map<std::pair<Rank, Rank>, std::vector<LoggedMessage>> ways;
  std::vector<std::int64_t> drops;  // rank by rank, in the order of their logs
};

Messages pair_messages(const std::vector<RankLog>& logs) {
  Messages messages;
  for (std::size_t rank = 0; rank < logs.size(); ++rank)
    for (const LogEntry& entry : logs[rank].entries)
      if (const bool statistics = entry.kind == LogEntry::Kind::statistics_sent; statistics || entry.kind == LogEntry::Kind::sent)
        messages.ways[{static_cast<Rank>(rank), entry.peer}].push_back({entry.ticks, -1, entry.bytes, entry.spared, statistics});
  std::map<std::pair<Rank, Rank>, std::size_t> arrived;
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    std::int64_t latest = 0;
    for (const LogEntry& entry : logs[rank].entries) {
      if (entry.kind == LogEntry::Kind::dropped) messages.drops.push_back(std::max(entry.ticks, latest));
      if (entry.kind != LogEntry::Kind::arrived) continue;
      const std::pair<Rank, Rank> way{entry.peer, static_cast<Rank>(rank)};
      LoggedMessage& message = messages.ways.at(way).at(arrived[way]++);
      message.arrived = std::max(entry.ticks, message.sent);
      latest = std::max(latest, message.arrived);
    }
  }
  return messages;
}

/// One thing to book; at the same tick messages begin before they end.
struct Booking {
  enum class Kind : std::uint8_t { compute_begins, compute_ends, compute_discarded, sent, arrived, dropped, published };
  std::int64_t ticks;
  Kind kind;
  Rank from = 0, to = 0;   // a worker's own: from
  std::uint64_t what = 0;  // bytes, or the publication's number
  bool statistics = false;
  double spared = 0;
  std::vector<Contribution> made = {};  // dropped
};

/// A rank's drops, at the first of the times `when`, which are consumed: each contribution with the samples and the time from the entries
/// behind it.
void add_dropped(const RankLog& log, std::span<const std::int64_t>& when, std::vector<Booking>& all) {
  for (const LogEntry& entry : log.entries) {
    if (entry.kind == LogEntry::Kind::dropped) {
      all.push_back({when.front(), Booking::Kind::dropped, 0, 0, entry.bytes});
      when = when.subspan(1);
    }
    if (entry.kind == LogEntry::Kind::dropped_samples) {
      Contribution& made = all.back().made.emplace_back();
      made.worker = entry.peer;
      made.samples = entry.bytes;
    }
    if (entry.kind == LogEntry::Kind::dropped_time) all.back().made.back().spent = Time::from_ticks(static_cast<std::int64_t>(entry.bytes));
  }
}

std::vector<Booking> bookings(const RunCourse& course) {
  std::vector<Booking> all;
  for (std::size_t rank = 0; rank < course.logs.size(); ++rank)
    for (const LogEntry& entry : course.logs[rank].entries)
      if (entry.kind <= LogEntry::Kind::compute_discarded)
        all.push_back({entry.ticks, static_cast<Booking::Kind>(entry.kind), static_cast<Rank>(rank)});
  const Messages messages = pair_messages(course.logs);
  std::span<const std::int64_t> drops = messages.drops;
  for (const RankLog& log : course.logs) add_dropped(log, drops, all);
  for (const auto& [way, sent] : messages.ways)
    for (const LoggedMessage& message : sent) {
      all.push_back({message.sent, Booking::Kind::sent, way.first, way.second, message.bytes, message.statistics, message.spared});
      if (message.arrived >= 0) all.push_back({message.arrived, Booking::Kind::arrived, way.first, way.second, message.bytes});
    }
  for (std::size_t i = 0; i < course.publications.size(); ++i)
    all.push_back({course.publications[i].when.ticks(), Booking::Kind::published, 0, 0, i});
  const std::int64_t end = course.end.ticks();
  std::erase_if(all, [end](const Booking& booking) { return booking.ticks > end; });
  std::stable_sort(all.begin(), all.end(), [](const Booking& a, const Booking& b) {
    const auto late = [](const Booking& each) {
      return each.kind == Booking::Kind::arrived     ? 1
             : each.kind == Booking::Kind::dropped   ? 2
             : each.kind == Booking::Kind::published ? 3
                                                     : 0;
    };
    return a.ticks != b.ticks ? a.ticks < b.ticks : late(a) < late(b);
  });
  return all;
}

class Bookkeeper {
 public:
  Bookkeeper(const RunCourse& course, RunRecorder& recorder)
      : course_(course), recorder_(recorder), workers_(static_cast<Rank>(recorder.record().workers.size())) {}

  void book(const Booking& booking) {
    const Time now = Time::from_ticks(booking.ticks);
    TimeAccounts& times = recorder_.times();
    const Rank worker = booking.from;
    switch (booking.kind) {
      case Booking::Kind::compute_begins:
        return times.begin_compute(worker, now);
      case Booking::Kind::compute_ends:
        times.end_compute(worker, now);
        return;
      case Booking::Kind::compute_discarded:
        return times.discard_compute(worker, now);
      case Booking::Kind::sent:
        recorder_.bytes().sent += booking.what;
        recorder_.bytes().spared += booking.spared;
        if (booking.statistics) recorder_.bytes().statistics += booking.what;
        if (is_worker(booking.from)) recorder_.worker(booking.from).bytes_sent += booking.what;
        return each_worker(booking, [&](Rank rank) { times.begin_flight(rank, now); });
      case Booking::Kind::arrived:
        recorder_.bytes().received += booking.what;
        if (is_worker(booking.to)) recorder_.worker(booking.to).bytes_received += booking.what;
        return each_worker(booking, [&](Rank rank) { times.end_flight(rank, now); });
      case Booking::Kind::dropped:
        return recorder_.discarded(booking.made, booking.what);
      case Booking::Kind::published: {
        const Publication& publication = course_.publications[booking.what];
        recorder_.published(publication.weights, publication.made, now);
      }
    }
  }

 private:
  bool is_worker(Rank rank) const { return rank < workers_; }
  template <class Do>
  void each_worker(const Booking& booking, const Do& act) const {
    if (is_worker(booking.from)) act(booking.from);
    if (is_worker(booking.to)) act(booking.to);
  }
  const RunCourse& course_;
  RunRecorder& recorder_;
  Rank workers_;
};

/// Until the start all workers are down.
void begin_late(const RunCourse& course, RunRecorder& recorder) {
  for (std::size_t i = 0; i < course.earlier_samples.size(); ++i) {
    const auto worker = static_cast<Rank>(i);
    recorder.worker(worker).samples += course.earlier_samples[i];
    recorder.worker(worker).updates += course.initial->version;
    recorder.times().set_down(worker, Time(), true);
    recorder.times().set_down(worker, course.start, false);
  }
}

}  // namespace

void book(const RunCourse& course, std::optional<Time> evaluate_every, RunRecorder& recorder) {
  recorder.begin(course.initial, course.start);
  begin_late(course, recorder);
  Bookkeeper keeper(course, recorder);
  Time next = evaluate_every.value_or(Time::never());
  while (next <= course.start) next += *evaluate_every;
  const auto evaluate_until = [&](Time now) {
    for (; next <= now; next += *evaluate_every) recorder.evaluate_now(next);
  };
  for (const Booking& booking : bookings(course)) {
    if (booking.kind == Booking::Kind::published) evaluate_until(Time::from_ticks(booking.ticks));
    keeper.book(booking);
  }
  evaluate_until(course.end);
  for (const RankLog& log : course.logs) {
    recorder.record().samples_drawn += log.samples_drawn;
    recorder.record().events += log.events;
  }
  recorder.bytes().lost += recorder.bytes().sent - recorder.bytes().received;
  const bool interrupted = std::any_of(course.logs.begin(), course.logs.end(), [](const RankLog& log) { return log.interrupted; });
  recorder.finish(course.end, interrupted ? std::optional(Outcome::interrupted) : std::nullopt);
}

}  // namespace straggler
