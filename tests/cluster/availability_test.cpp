// When workers are present: shares of time, hours of the day, files.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/cluster/availability.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::unique_ptr<Availability> pattern(const std::string& name, Parameters given) {
  const AvailabilityEntry& entry = Registry<AvailabilityEntry>::instance().at(name);
  return entry.make(complete(entry.parameters, std::move(given)));
}

Attendant attendant(std::uint64_t number) {
  return {number, RandomStream::stream_key(3, "worker/" + std::to_string(number) + "/availability")};
}

/// At that moment, found from the beginning; `until`, if it is not null, becomes the end of the spell.
bool present(const Availability& pattern, const Attendant& worker, Time when, Time* until = nullptr) {
  Spell spell;
  std::uint64_t k = 0;
  for (spell.until = Time(); spell.until <= when; ++k) spell = pattern.spell(worker, k, spell.until);
  if (until) *until = spell.until;
  return spell.present;
}

Time seconds(double s) { return Time::from_seconds(s); }

}  // namespace

TEST_CASE("on_off: at any moment, the first one too, a share on / (on + off) of the workers is present") {
  const auto phones = pattern("on_off", {{"on", 60.0}, {"off", 30.0}});
  const double p = 60.0 / 90;
  CHECK(phones->share() == doctest::Approx(p));
  constexpr int workers = 20'000;
  for (const double when : {0.0, 7.0, 500.0}) {
    int there = 0;
    double left = 0;
    for (int i = 0; i < workers; ++i) {
      Time until;
      if (!present(*phones, attendant(static_cast<std::uint64_t>(i)), seconds(when), &until)) continue;
      ++there;
      left += (until - seconds(when)).seconds();
    }
    CAPTURE(when);
    CHECK(std::abs(there - workers * p) < 4 * std::sqrt(workers * p * (1 - p)));
    // It has no memory: who is present stays for another Exp(on).
    CHECK(std::abs(left / there - 60) < 4 * 60 / std::sqrt(there));
  }
}

TEST_CASE("on_off: spells take turns, and each worker has its own") {
  const auto phones = pattern("on_off", {{"on", 2.0}, {"off", 1.0}});
  Time begin;
  for (std::uint64_t k = 0; k < 50; ++k) {
    const Spell spell = phones->spell(attendant(1), k, begin);
    CHECK(spell.until > begin);
    CHECK(spell.present != phones->spell(attendant(1), k + 1, spell.until).present);
    CHECK(spell.until == phones->spell(attendant(1), k, begin).until);
    CHECK(spell.until != phones->spell(attendant(2), k, begin).until);
    begin = spell.until;
  }
}

TEST_CASE("daily: each worker is present for those hours of its own day") {
  const auto nights = pattern("daily", {{"from", 22 * 3600.0}, {"hours", 8.0}});
  CHECK(nights->share() == doctest::Approx(8.0 / 24));
  constexpr int workers = 24'000;
  int there = 0;
  for (std::uint64_t i = 0; i < workers; ++i) {
    there += present(*nights, attendant(i), seconds(100));
    if (i >= 50) continue;
    int hours = 0;
    for (int half = 0; half < 48; ++half) hours += present(*nights, attendant(i), seconds(900 + 1800 * half));
    CHECK(hours == 16);  // halves
    CHECK(present(*nights, attendant(i), seconds(900)) == present(*nights, attendant(i), seconds(900 + 86'400)));
  }
  CHECK(std::abs(there - workers / 3.0) < 4 * std::sqrt(workers / 3.0 * 2 / 3));
  const auto always = pattern("daily", {{"from", 0.0}, {"hours", 24.0}});
  CHECK(always->spell(attendant(0), 0, Time()).present);
  CHECK(always->spell(attendant(0), 0, Time()).until == Time::never());
}

TEST_CASE("trace: workers take the clients of the file in turn; it ends, or begins again") {
  const TemporaryFolder folder;
  folder.write("clients.csv", "# two clients\nworker,from_s,to_s\n7,1,2\n3,0,1\n3,1,4\n7,5,6\n");
  const std::string path = (folder.path() / "clients.csv").string();
  const auto once = pattern("trace", {{"path", path}});
  CHECK(once->share() == doctest::Approx((4.0 + 2) / 2 / 6));
  for (const std::uint64_t number : {0, 2}) {  // client 3, whose spans touch
    CHECK(once->spell({number, 0}, 0, Time()).until == seconds(4));
    CHECK(present(*once, {number, 0}, seconds(3.9)));
    CHECK_FALSE(present(*once, {number, 0}, seconds(4)));
    CHECK(once->spell({number, 0}, 1, seconds(4)).until == Time::never());
  }
  CHECK_FALSE(present(*once, {1, 0}, seconds(0.5)));
  CHECK(present(*once, {1, 0}, seconds(5)));
  CHECK_FALSE(present(*once, {1, 0}, seconds(2)));

  const auto again = pattern("trace", {{"path", path}, {"repeat", 6.0}});
  CHECK(present(*again, {0, 0}, seconds(6)));
  CHECK_FALSE(present(*again, {0, 0}, seconds(11)));
  CHECK(present(*again, {1, 0}, seconds(6000 + 5.5)));
  CHECK_FALSE(present(*again, {1, 0}, seconds(6000 + 4.5)));
}

TEST_CASE("trace: errors of a file in one line with their place") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text, Parameters more = {}) {
    folder.write("clients.csv", text);
    more.set("path", (folder.path() / "clients.csv").string());
    try {
      pattern("trace", std::move(more));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
    return std::string("accepted");
  };
  const std::string none =
      "clients.csv: there are no spans in it that last for a picosecond; write rows such as 0,3600,7200 below the header "
      "worker,from_s,to_s";
  CHECK(refusal("") == none);
  CHECK(refusal("worker,from_s,to_s\n2,0,1e-192\n") == none);
  CHECK(refusal("0,1,2\n") == "clients.csv:1: the first row is no header; write worker,from_s,to_s");
  CHECK(refusal("worker,from_s,to_s\n0,2,1\n") ==
        "clients.csv:2: the span ends at 1 s and begins at 2 s; write seconds from 0 on, the end after the beginning");
  CHECK(refusal("worker,from_s,to_s\n0.5,1,2\n") == "clients.csv:2: 0.5 is no client; number them from 0");
  CHECK(refusal("worker,from_s,to_s\n0,1\n") == "clients.csv:2: there are 2 columns; write worker,from_s,to_s");
  CHECK(refusal("worker,from_s,to_s\n0,1,9\n", {{"repeat", 5.0}}).find("it lasts for longer than repeat, 5s") != std::string::npos);
  CHECK(refusal("worker,from_s,to_s\n0,1,x\n").find("clients.csv:2: ") == 0);
  std::string clients = "worker,from_s,to_s\n";
  for (int client = 0; client <= 1'000'000; ++client) clients += std::to_string(client) + ",1,2\n";
  CHECK(refusal(clients) == "clients.csv:1000002: more than a million clients; give fewer, which workers share in turn");
}
