// A state of ranks is written and read back, and what is not one is refused.
#include "validation/mpi/rank_checkpoint.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <fstream>

#include "tests/mpi/values.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;

namespace {

CheckpointOptions options(const std::filesystem::path& file, bool resume, std::vector<CheckpointNote>* notes = nullptr) {
  CheckpointOptions made;
  made.file = file;
  made.interval.updates = 10;
  made.resume = resume;
  made.identity = {Key{1, 2}, Key{3, 4}, "x86-64-v3", "straggler 1"};
  if (notes) made.tell = [notes](const CheckpointNote& note) { notes->push_back(note); };
  return made;
}

std::string refusal(const CheckpointOptions& options) {
  try {
    RankCheckpoint(options).state();
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("weights and optimizer state come back as they were, with the version and the beginning of the job") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "job.checkpoint";
  Lineage lineage(Math::lazy, Key{5, 6});
  HeldValues values(lineage);
  const std::vector<Handle> vectors = {values.made(1, {1.5f, -2, 3}), values.made(2, {0, 1e-30f, 7}), values.made(3, {4, 5, 6})};
  std::vector<CheckpointNote> notes;
  RankCheckpoint writer(options(file, false, &notes));
  CHECK(!std::filesystem::exists(file));
  CHECK(!writer.state());
  writer.write(0, 77, {vectors[0]}, values);
  writer.write(30, 123456789, vectors, values);
  REQUIRE(notes.size() == 2);
  CHECK(notes[1].what == CheckpointNote::What::written);
  CHECK(notes[1].version == 30);
  CHECK(notes[1].bytes == std::filesystem::file_size(file));

  CheckpointOptions again = options(file, true, &notes);
  again.interval = CheckpointInterval();
  RankCheckpoint reader(std::move(again));
  REQUIRE(reader.state());
  const RankState& state = *reader.state();
  CHECK(state.version == 30);
  CHECK(state.began == 123456789);
  REQUIRE(state.keys.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(state.keys[k] == vectors[k].key());
    CHECK(std::ranges::equal(state.vectors[k], values.of(vectors[k])));
  }
  CHECK(notes.back().what == CheckpointNote::What::found);
  CHECK(reader.due(20));  // the interval that was saved
  CHECK(!reader.due(25));
  reader.forget();
  CHECK(!reader.state());
}

TEST_CASE("a file that is no checkpoint of this job is refused, wherever it is damaged") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "job.checkpoint";
  std::vector<CheckpointNote> notes;
  CHECK(!RankCheckpoint(options(file, true, &notes)).state());
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].what == CheckpointNote::What::none);
  Lineage lineage(Math::lazy, Key{5, 6});
  HeldValues values(lineage);
  RankCheckpoint(options(file, false)).write(10, 1, {values.made(1, {1, 2})}, values);
  CHECK(refusal(options(file, true)).empty());

  std::ifstream in(file, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const auto with = [&](const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
    return refusal(options(file, true));
  };
  for (std::size_t length = 0; length < good.size(); ++length) CHECK(with(good.substr(0, length)) != "");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    CHECK(with(bad) != "");
  }
  CHECK(with(good + "x").find("is truncated or damaged; remove it") != std::string::npos);
  CHECK(with("straggler ranks9" + good.substr(16)).find("of version 9; this program reads version 1") != std::string::npos);
  CHECK(with("#!/bin/sh\necho none of that\n").find("is not a checkpoint of real ranks") != std::string::npos);
  CHECK(with(good).empty());

  const auto other = [&](auto change) {
    CheckpointOptions changed = options(file, true);
    change(changed.identity);
    return refusal(changed);
  };
  CHECK(other([](CheckpointIdentity& own) { own.scenario = Key{9, 9}; }).find("belongs to a different scenario") != std::string::npos);
  CHECK(other([](CheckpointIdentity& own) { own.root = Key{9, 9}; }).find("was made with other data") != std::string::npos);
  CHECK(other([](CheckpointIdentity& own) { own.kernels = "generic"; }).find("add --kernels x86-64-v3") != std::string::npos);
  CHECK(other([](CheckpointIdentity& own) { own.build = "straggler 2"; }).find("was written by straggler 1, this is straggler 2") !=
        std::string::npos);
}

TEST_CASE("a checkpoint that cannot be written is told, and the one before stays") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "there" / "job.checkpoint";
  CHECK(refusal(options(file, false)).find("the checkpoint cannot be written") != std::string::npos);
  std::filesystem::create_directory(file.parent_path());
  Lineage lineage(Math::lazy, Key{5, 6});
  HeldValues values(lineage);
  std::vector<CheckpointNote> notes;
  RankCheckpoint writer(options(file, false, &notes));
  std::filesystem::remove(file.parent_path());
  writer.write(10, 1, {values.made(1, {1, 2})}, values);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].what == CheckpointNote::What::failed);
  CHECK(notes[0].problem.find("the run continues without it") != std::string::npos);
}
