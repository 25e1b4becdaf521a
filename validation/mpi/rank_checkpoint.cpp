#include "validation/mpi/rank_checkpoint.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sim/base/aside_file.hpp"
#include "sim/base/format_version.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

static_assert(FormatVersion::rank_checkpoint < 10, "the mark has room for one digit");
constexpr std::array<char, 16> rank_mark = {'s', 't', 'r', 'a', 'g', 'g', 'l', 'e',
                                            'r', ' ', 'r', 'a', 'n', 'k', 's', '0' + FormatVersion::rank_checkpoint};
constexpr std::size_t head_bytes = rank_mark.size() + sizeof(Key);

std::span<const std::byte> text_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Key hash_of(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add_bytes(bytes.data(), bytes.size());
  return hasher.key();
}

class OpenFile {
 public:
  OpenFile(const fs::path& path, const char* how) : file_(std::fopen(path.c_str(), how)) {}
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  operator std::FILE*() const { return file_; }
  bool close() { return !file_ || std::fclose(std::exchange(file_, nullptr)) == 0; }

 private:
  std::FILE* file_;
};

/// The error number; 0: it is there.
int written(const fs::path& place, std::span<const Bytes> parts) {
  AsideFile aside(place);
  OpenFile file(aside.path(), "wbxe");
  if (!file) return errno;
  for (const Bytes& part : parts)
    if (std::fwrite(part.data(), 1, part.size(), file) != part.size()) return errno;
  return file.close() ? aside.put_into_place().value() : errno;
}

std::string cannot_write(const fs::path& file, int error) {
  return fmt::format("{}: the checkpoint cannot be written ({}); make room, or choose another folder with --out", file.string(),
                     std::strerror(error));
}

}  // namespace

RankCheckpoint::RankCheckpoint(CheckpointOptions options) : options_(std::move(options)) {
  std::error_code error;
  const bool there = fs::exists(options_.file, error);
  if (options_.resume && there) {
    read();
  } else if (options_.resume) {
    tell(CheckpointNote::What::none);
  } else if (there) {
    tell(CheckpointNote::What::replaced);
  }
  if (!saves()) return;
  AsideFile probe(options_.file);
  if (!OpenFile(probe.path(), "wbxe")) throw DataError(cannot_write(options_.file, errno));
}

void RankCheckpoint::fail(const std::string& sentence) const { throw DataError(options_.file.string() + ": " + sentence); }

void RankCheckpoint::tell(CheckpointNote::What what, std::uint64_t version, std::uint64_t bytes) {
  if (options_.tell) options_.tell({what, version, bytes, 0, {}});
}

void RankCheckpoint::read() {
  constexpr const char* damaged = "is truncated or damaged; remove it, and the job starts from the beginning";
  std::error_code error;
  OpenFile file(options_.file, "rbe");
  if (!file) fail(fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
  read_.resize(fs::file_size(options_.file, error));
  if (error || std::fread(read_.data(), 1, read_.size(), file) != read_.size()) fail("cannot be read; make it readable");
  if (read_.size() < rank_mark.size() || std::memcmp(read_.data(), rank_mark.data(), rank_mark.size() - 1) != 0)
    fail("is not a checkpoint of real ranks; remove it, or choose another folder with --out");
  if (const char version = static_cast<char>(read_[rank_mark.size() - 1]); version != rank_mark.back())
    fail(fmt::format("is a checkpoint of version {}; this program reads version {}; continue with the program that wrote it, or remove it",
                     version, rank_mark.back()));
  if (read_.size() < head_bytes) fail(damaged);
  const auto whole = std::span(std::as_const(read_));
  if (Unpacker(whole.subspan(rank_mark.size())).get_key() != hash_of(whole.subspan(head_bytes))) fail(damaged);
  Unpacker from(whole.subspan(head_bytes));
  CheckpointIdentity saved;
  saved.scenario = from.get_key();
  saved.root = from.get_key();
  saved.kernels = text_of(from.get_block());
  saved.build = text_of(from.get_block());
  check(saved);
  CheckpointInterval interval;
  interval.seconds = from.get<double>();
  interval.updates = from.get<std::uint64_t>();
  if (!saves()) options_.interval = interval;
  RankState state;
  state.version = from.get<std::uint64_t>();
  state.began = from.get<std::int64_t>();
  const auto length = from.get<std::uint64_t>();
  state.keys.resize(from.get_count(sizeof(Key)));
  for (Key& key : state.keys) key = from.get_key();
  for (std::size_t k = 0; k < state.keys.size(); ++k) state.vectors.push_back(from.get_floats(length));
  state_ = std::move(state);
  tell(CheckpointNote::What::found, state_->version, read_.size());
}

void RankCheckpoint::check(const CheckpointIdentity& saved) const {
  const CheckpointIdentity& own = options_.identity;
  if (saved.kernels != own.kernels)
    fail(fmt::format("was computed by the kernel set '{}', this would be by '{}', whose sums differ; add --kernels {}", saved.kernels,
                     own.kernels, saved.kernels));
  if (saved.scenario != own.scenario)
    fail("belongs to a different scenario; continue with the same one, or leave out --resume to start again");
  if (saved.root != own.root) fail("was made with other data, which have changed since; leave out --resume to start again");
  if (saved.build != own.build)
    fail(fmt::format(
        "was written by {}, this is {}, whose bits may differ; continue with that program, or leave out --resume to start again",
        saved.build, own.build));
}

bool RankCheckpoint::due(std::uint64_t version) const {
  if (options_.interval.updates > 0) return version % options_.interval.updates == 0;
  return saves() && std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count() >= options_.interval.seconds;
}

void RankCheckpoint::write(std::uint64_t version, std::int64_t began, const std::vector<Handle>& vectors, Values& values) {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t length = values.of(vectors.front()).size();
  Packer body;
  body.reserve(4096 + vectors.size() * (sizeof(Key) + length * sizeof(float)));
  body.put(options_.identity.scenario);
  body.put(options_.identity.root);
  body.put_block(text_bytes(options_.identity.kernels));
  body.put_block(text_bytes(options_.identity.build));
  body.put(options_.interval.seconds);
  body.put(options_.interval.updates);
  body.put(version);
  body.put(began);
  body.put(std::uint64_t{length});
  body.put(std::uint64_t{vectors.size()});
  for (const Handle& vector : vectors) body.put(vector.key());
  for (const Handle& vector : vectors) body.put_floats(values.of(vector));
  std::array<Bytes, 2> file;
  file[1] = body.take();
  Packer head;
  for (const char letter : rank_mark) head.put(letter);
  head.put(hash_of(file[1]));
  file[0] = head.take();
  const int error = written(options_.file, file);
  last_ = std::chrono::steady_clock::now();
  if (!options_.tell) return;
  CheckpointNote note{
      CheckpointNote::What::written, version, file[0].size() + file[1].size(), std::chrono::duration<double>(last_ - start).count(), {}};
  if (error != 0) {
    note.what = CheckpointNote::What::failed;
    note.problem = cannot_write(options_.file, error) + "; the run continues without it";
  }
  options_.tell(note);
}

}  // namespace straggler
