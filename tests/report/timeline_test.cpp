// The picture of who computes, sends and waits, and which work is dropped.
#include <doctest/doctest.h>

#include "scenarios/report/timeline.hpp"
#include "tests/support/text.hpp"

namespace straggler {
namespace {

using test::count;

constexpr Time time_at(double seconds) { return Time::from_ticks(static_cast<std::int64_t>(seconds * 1e12)); }

TEST_CASE("a timeline knows dropped work by how long it took, earliest first, and keeps the rest") {
  Timeline timeline(2, time_at(10));
  RecordSink& sink = timeline;
  sink.span(0, Phase::compute, time_at(0), time_at(1));
  sink.span(0, Phase::communication, time_at(1), time_at(2));
  sink.span(0, Phase::compute, time_at(2), time_at(4));
  sink.span(0, Phase::compute, time_at(4), time_at(5));
  sink.wasted(0, time_at(3));  // two steps that went into one contribution
  sink.wasted(1, time_at(3));  // nothing of that length is known
  sink.wasted(7, time_at(1));  // not drawn
  const auto& spans = timeline.spans(0);
  REQUIRE(spans.size() == 4);
  CHECK(spans[0].phase == Phase::wasted);  // 0 to 1 and 2 to 4 are the first in a row that took 3 s
  CHECK(spans[1].phase == Phase::communication);
  CHECK(spans[2].phase == Phase::wasted);
  CHECK(spans[3].phase == Phase::compute);
  sink.wasted(0, time_at(1));
  CHECK(spans[3].phase == Phase::wasted);
  sink.wasted(0, time_at(1));  // none is left
  CHECK(spans[1].phase == Phase::communication);
}

TEST_CASE("a timeline keeps the spans that begin in its stretch, of the drawn workers") {
  Timeline timeline(1, time_at(2));
  RecordSink& sink = timeline;
  sink.span(0, Phase::compute, time_at(0), time_at(1.5));
  sink.span(0, Phase::idle, time_at(1.5), time_at(3));
  sink.span(0, Phase::compute, time_at(3), time_at(4));
  sink.span(1, Phase::compute, time_at(0), time_at(1));
  sink.contribution(1, time_at(1.5), 0, 0, 0, 1, 8);
  sink.contribution(1, time_at(1.5), 1, 0, 8, 1, 8);
  sink.contribution(2, time_at(2.5), 0, 1, 16, 1, 8);
  CHECK(timeline.spans(0).size() == 2);
  REQUIRE(timeline.updates().size() == 1);
  CHECK(timeline.updates()[0].workers == std::vector<Rank>{0});
}

TEST_CASE("the picture of a timeline: one block per span, one line per update, and a legend of the phases that occur") {
  Timeline timeline(2, time_at(2));
  RecordSink& sink = timeline;
  sink.span(0, Phase::compute, time_at(0), time_at(1));
  sink.span(0, Phase::idle, time_at(1), time_at(2));
  sink.span(1, Phase::compute, time_at(0), time_at(2));
  sink.wasted(1, time_at(2));
  sink.contribution(1, time_at(1), 0, 0, 0, 1, 8);
  const std::string text = draw(timeline, {"a", "b"}, "two <workers>").standalone();
  CHECK(text.find("aria-label=\"two &lt;workers&gt;\"") != std::string::npos);
  for (const char* said : {">a<", ">b<", ">computes<", ">dropped work<", ">waits<", ">work in this update<", ">update<", ">2 s<"}) {
    CAPTURE(said);
    CHECK(text.find(said) != std::string::npos);
  }
  CHECK(text.find("loads a batch") == std::string::npos);
  CHECK(text.find("sends or receives") == std::string::npos);
  // The names take 0.6 x 11.5 x 6 = 41.4 pixels for "update", and 12 more; the time axis goes from there to 704: 325.3 pixels a second.
  // The legend has a line of 22, the numbers 20, and 8 between: the first row begins at 50, its middle is at 67.
  CHECK(text.find("<path d=\"M53.4 67h324.3\" class=\"block\"/>") != std::string::npos);
  CHECK(text.find("<path d=\"M378.7 67h324.3\" class=\"ideal\"/>") != std::string::npos);
  CHECK(text.find("<path d=\"M378.7 50V118\" class=\"update\"/>") != std::string::npos);
  CHECK(test::count(text, "class=\"hollow\"") == 2);  // in the legend, and worker b's block
}

}  // namespace
}  // namespace straggler
