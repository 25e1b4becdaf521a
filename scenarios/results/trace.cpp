#include "scenarios/results/trace.hpp"

#include <set>
#include <stdexcept>

#include "scenarios/results/text.hpp"

namespace straggler {

TraceSampler::TraceSampler(std::size_t limit, std::size_t window) : limit_(limit), window_(window) {
  if (window == 0 || limit < 2 * window) throw std::logic_error("a trace must have room for two windows");
}

void TraceSampler::add(Rank worker, Phase phase, Time start, Time end) {
  if (end <= start) return;
  const std::uint64_t number = seen_++;
  if ((number / window_) % stride_ != 0) return;
  if (spans_.size() == limit_) {
    halve();
    if ((number / window_) % stride_ != 0) return;
  }
  spans_.push_back({start, end - start, worker, phase});
}

void TraceSampler::halve() {
  stride_ *= 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < spans_.size(); ++i)
    if ((i / window_) % 2 == 0) spans_[kept++] = spans_[i];
  spans_.resize(kept);
}

void TraceSampler::write(OutFile& file, std::string_view name) const {
  file.print("{{\"displayTimeUnit\": \"ms\",\n\"otherData\": {{\"spans\": {}, \"kept\": {}, \"sampling\": ", seen_, spans_.size());
  if (stride_ == 1)
    file.write("\"none\"");
  else
    file.print("\"every {}th window of {} consecutive spans is kept, the others are left out\"", stride_, window_);
  file.write("},\n\"traceEvents\": [\n");
  file.print("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{{\"name\":{}}}}}", json_text(name));

  std::set<std::uint32_t> named;
  for (const Span& span : spans_) {
    if (named.size() == most_names) break;
    if (!named.insert(span.worker).second) continue;
    file.print(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":{0},\"args\":{{\"name\":\"worker {0}\"}}}}", span.worker);
  }
  for (const Span& span : spans_) {
    char* at = file.row();
    const auto put = [&at](std::string_view text) { at = std::copy(text.begin(), text.end(), at); };
    put(",\n{\"name\":\"");
    put(name_of(span.phase));
    put("\",\"ph\":\"X\",\"pid\":0,\"tid\":");
    at = write_count(at, span.worker);
    put(",\"ts\":");
    at = write_decimal<6>(at, span.start.ticks());
    put(",\"dur\":");
    at = write_decimal<6>(at, span.length.ticks());
    put("}");
    file.advance(at);
  }
  file.write("\n]}\n");
}

}  // namespace straggler
