#include "models/formats/given_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "models/data/unpacked.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/shown_text.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block = 512;  // of a tar archive
constexpr std::size_t most_members = 100'000;
constexpr std::size_t longest_name = 4096;
constexpr std::uintmax_t longest_header = 1 << 20;  // a member's extended header (pax)

[[noreturn]] void refuse_given(const fs::path& file, const std::string& sentence) { throw DataError(file.string() + ": " + sentence); }

/// The bytes of a file, unpacked if gzip packed them.
class Unpacked {
 public:
  explicit Unpacked(const fs::path& file) : file_(file) {
    std::error_code error;
    if (!fs::exists(file, error)) refuse_given(file, "no such file; name one that is there");
    if (fs::is_directory(file, error)) refuse_given(file, "is a folder; name a file in it");
    if (!fs::is_regular_file(file, error)) refuse_given(file, "is not a file; name one that can be read twice");
    packed_size_ = fs::file_size(file, error);
    errno = 0;
    stream_ = gzopen(file.c_str(), "rb");
    if (stream_ == nullptr) refuse_given(file, fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
    gzbuffer(stream_, 1 << 18);
  }
  ~Unpacked() { gzclose_r(stream_); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  /// Appends at most `count` bytes; fewer only at the end.
  void read(std::string& to, std::uintmax_t count) {
    while (count > 0) {
      const std::size_t piece = static_cast<std::size_t>(std::min<std::uintmax_t>(count, buffer_.size()));
      const std::size_t got = read(piece);
      to.append(buffer_.data(), got);
      count -= got;
      if (got < piece) return;
    }
  }
  /// The number of bytes that it passed over; fewer than `count` only at the end.
  std::uintmax_t skip(std::uintmax_t count) {
    std::uintmax_t left = count;
    while (left > 0) {
      const std::size_t piece = static_cast<std::size_t>(std::min<std::uintmax_t>(left, buffer_.size()));
      const std::size_t got = read(piece);
      left -= got;
      if (got < piece) break;
    }
    return count - left;
  }
  /// The next bytes, at most `most`; it holds until the next call. Empty: the end.
  std::string_view piece(std::uintmax_t most) {
    return {buffer_.data(), read(static_cast<std::size_t>(std::min<std::uintmax_t>(most, buffer_.size())))};
  }
  bool packed() { return gzdirect(stream_) == 0; }
  std::uintmax_t packed_size() const { return packed_size_; }
  std::uintmax_t position() const { return position_; }

 private:
  std::size_t read(std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      errno = 0;
      const int got = gzread(stream_, buffer_.data() + done, static_cast<unsigned>(count - done));
      int code = Z_OK;
      const char* const message = gzerror(stream_, &code);
      if (code == Z_BUF_ERROR) refuse_given(file_, "is packed by gzip and cut off; get the whole file");
      if (code == Z_ERRNO) refuse_given(file_, fmt::format("cannot be read ({}); get a whole file", std::strerror(errno)));
      if (got < 0) refuse_given(file_, fmt::format("is packed by gzip and damaged ({}); get an undamaged file", shown_text(message)));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    position_ += done;
    if (packed() && unpacks_too_far(packed_size_, position_))
      refuse_given(file_, fmt::format("unpacks to more than {} times its size; unpack it yourself if that is right", most_unpacked));
    return done;
  }

  const fs::path& file_;
  gzFile stream_ = nullptr;
  std::uintmax_t packed_size_ = 0, position_ = 0;
  std::string buffer_ = std::string(1 << 18, '\0');
};

/// The bytes of an archive's member that gzip packed; the archive's stream stands behind what was read of it.
class UnpackedMember {
 public:
  /// `head`: those of its `packed` bytes that are read already.
  UnpackedMember(Unpacked& stream, std::uintmax_t packed, std::string head, fs::path shown)
      : stream_(stream), shown_(std::move(shown)), head_(std::move(head)), packed_(packed), left_(packed - head_.size()) {
    if (inflateInit2(&inflater_, 15 + 16) != Z_OK) refuse_given(shown_, "cannot be unpacked; unpack it yourself");
    give(head_);
  }
  ~UnpackedMember() { inflateEnd(&inflater_); }
  UnpackedMember(const UnpackedMember&) = delete;
  UnpackedMember& operator=(const UnpackedMember&) = delete;

  /// The next bytes, at most `most`; it holds until the next call. Empty: the end.
  std::string_view piece(std::uintmax_t most) {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uintmax_t>(most, buffer_.size()));
    inflater_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    inflater_.avail_out = static_cast<uInt>(want);
    while (inflater_.avail_out > 0) {
      if (inflater_.avail_in == 0 && left_ > 0) {
        const std::string_view more = stream_.piece(left_);
        if (more.empty()) refuse_given(shown_, "has changed while it was read; try again");
        left_ -= more.size();
        give(more);
      }
      if (ended_) {  // padding, or another packed part behind it
        if (inflater_.avail_in == 0 || *inflater_.next_in != 0x1F) break;
        inflateReset(&inflater_);
        ended_ = false;
      }
      const int code = inflate(&inflater_, Z_NO_FLUSH);
      if (code == Z_STREAM_END)
        ended_ = true;
      else if (code == Z_BUF_ERROR || (code == Z_OK && inflater_.avail_in == 0 && left_ == 0 && inflater_.avail_out > 0))
        refuse_given(shown_, "is packed by gzip and cut off; get the whole file");
      else if (code != Z_OK)
        refuse_given(shown_, fmt::format("is packed by gzip and damaged ({}); get an undamaged file",
                                         shown_text(inflater_.msg == nullptr ? "no data" : inflater_.msg)));
    }
    const std::size_t got = want - inflater_.avail_out;
    position_ += got;
    if (unpacks_too_far(packed_, position_))
      refuse_given(shown_, fmt::format("unpacks to more than {} times its size; unpack it yourself if that is right", most_unpacked));
    return {buffer_.data(), got};
  }
  void read(std::string& to, std::uintmax_t count) {
    for (std::string_view got; count > 0 && !(got = piece(count)).empty(); count -= got.size()) to.append(got);
  }
  std::uintmax_t skip_all() {
    while (!piece(UINTMAX_MAX).empty()) {
    }
    return position_;
  }
  /// Packed bytes that are not read.
  std::uintmax_t left() const { return left_; }

 private:
  void give(std::string_view bytes) {
    inflater_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    inflater_.avail_in = static_cast<uInt>(bytes.size());
  }

  Unpacked& stream_;
  fs::path shown_;
  std::string head_, buffer_ = std::string(1 << 18, '\0');
  z_stream inflater_ = {};
  std::uintmax_t packed_, left_, position_ = 0;
  bool ended_ = false;
};

/// Octal digits between blanks, or with the high bit set a big-endian number (GNU). Nothing: no number.
std::optional<std::uintmax_t> tar_number(std::string_view field) {
  std::uintmax_t value = 0;
  if (!field.empty() && (static_cast<unsigned char>(field.front()) & 0x80) != 0) {
    for (std::size_t i = 0; i < field.size(); ++i) {
      const auto byte = static_cast<unsigned char>(i == 0 ? field[i] & 0x7F : field[i]);
      if (value >> 54 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  std::size_t at = 0;
  while (at < field.size() && field[at] == ' ') ++at;
  const std::size_t first = at;
  for (; at < field.size() && field[at] >= '0' && field[at] <= '7'; ++at) value = value << 3 | static_cast<std::uintmax_t>(field[at] - '0');
  if (at == first) return std::nullopt;
  for (; at < field.size(); ++at)
    if (field[at] != ' ' && field[at] != '\0') return std::nullopt;
  return value;
}

struct TarHeader {
  std::string name;
  char type = '0';
  std::uintmax_t size = 0;
  bool sparse_goes_on = false;
};

/// Nothing: the block is no header. Its sum counts its own field as blanks.
std::optional<TarHeader> tar_header(std::string_view bytes) {
  if (bytes.size() < block) return std::nullopt;
  unsigned sum = 0;
  for (std::size_t i = 0; i < block; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes[i]);
  const std::optional<std::uintmax_t> stated = tar_number(bytes.substr(148, 8)), size = tar_number(bytes.substr(124, 12));
  if (!stated || *stated != sum || !size) return std::nullopt;
  const auto text = [&](std::size_t at, std::size_t length) {
    const std::string_view field = bytes.substr(at, length);
    return std::string(field.substr(0, std::min(field.find('\0'), field.size())));
  };
  TarHeader header{text(0, 100), bytes[156], *size, false};
  const std::string prefix = bytes.substr(257, 6) == std::string_view("ustar\0", 6) ? text(345, 155) : "";
  if (!prefix.empty()) header.name = prefix + "/" + header.name;
  return header;
}

/// A value of an extended header: lines "LENGTH KEY=VALUE\n". Empty: it is not there.
std::string pax_value(std::string_view text, std::string_view key) {
  std::string found;
  while (!text.empty()) {
    std::size_t length = 0, digits = 0;
    for (; digits < text.size() && digits < 8 && is_digit(text[digits]); ++digits)
      length = length * 10 + static_cast<std::size_t>(text[digits] - '0');
    if (length <= digits + 1 || length > text.size()) break;
    const std::string_view line = text.substr(digits + 1, length - digits - 2);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == '=') found = line.substr(key.size() + 1);
    text.remove_prefix(length);
  }
  return found;
}

/// Reads the headers of an archive, one member after the other.
class Tar {
 public:
  Tar(const fs::path& file, Unpacked& stream, std::string first_block) : file_(file), stream_(stream), head_(std::move(first_block)) {}

  /// The next file; the stream stands at its first byte. Nothing: the end.
  std::optional<TarHeader> next() {
    std::string name;
    std::optional<std::uintmax_t> size;
    for (;;) {
      if (head_.empty()) stream_.read(head_, block);
      if (head_.empty() || std::ranges::all_of(head_, [](char c) { return c == '\0'; })) return std::nullopt;
      std::optional<TarHeader> header = tar_header(head_);
      head_.clear();
      if (!header) refuse_given(file_, fmt::format("is a damaged tar archive (at byte {}); get the whole archive", stream_.position()));
      if (++members_ > most_members)
        refuse_given(file_, fmt::format("holds more than {} files; name one of them", readable_count(most_members)));
      switch (header->type) {
        case 'L':  // the name of the next member
          name = extension(*header);
          name.resize(std::min(name.find('\0'), name.size()));
          continue;
        case 'x': {
          const std::string text = extension(*header);
          if (std::string path = pax_value(text, "path"); !path.empty()) name = std::move(path);
          if (const std::string stated = pax_value(text, "size"); !stated.empty()) size = decimal(stated);
          continue;
        }
        case '0':
        case '\0':
        case '7':
          if (!name.empty()) header->name = std::move(name);
          if (size) header->size = *size;
          header->name.resize(std::min(header->name.size(), longest_name));
          if (header->type == '\0' && header->name.ends_with('/')) break;  // a folder, before there were types
          return header;
        case 'S':
          refuse_given(file_, "holds a sparse file; make the archive without --sparse");
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
          header->size = 0;  // links and folders have no bytes
          break;
        default:
          break;
      }
      pass(size.value_or(header->size), header->name);
      name.clear();
      size.reset();
    }
  }

  /// Over the rest of a member, of which `left` bytes are to come, to the next header.
  void pass(std::uintmax_t left, const std::string& member) {
    if (left > std::uintmax_t{1} << 60 || stream_.skip(left) < left) cut_off(member);
    stream_.skip((block - stream_.position() % block) % block);
  }
  [[noreturn]] void cut_off(const std::string& member) {
    refuse_given(file_, fmt::format("ends inside {}; get the whole archive", shown_text(shortened(member, 200))));
  }

 private:
  std::string extension(const TarHeader& header) {
    if (header.size > longest_header) refuse_given(file_, "is a damaged tar archive (a name of a megabyte); get the whole archive");
    std::string text;
    stream_.read(text, header.size);
    if (text.size() < header.size) cut_off(header.name);
    pass(0, header.name);
    return text;
  }

  std::uintmax_t decimal(const std::string& text) {
    std::uintmax_t value = 0;
    for (const char c : text) {
      if (!is_digit(c) || value > std::uintmax_t{1} << 58)
        refuse_given(file_, "is a damaged tar archive (a size is no number); get the whole archive");
      value = 10 * value + static_cast<std::uintmax_t>(c - '0');
    }
    return value;
  }

  const fs::path& file_;
  Unpacked& stream_;
  std::string head_;  // the next header, if it is read already
  std::size_t members_ = 0;
};

}  // namespace

fs::path GivenFile::shown() const {
  return in_archive() ? fs::path(file_.string() + ": " + shown_text(shortened(member_.string(), 200))) : file_;
}

std::string GivenFile::text(std::uintmax_t most) const {
  Unpacked stream(file_);
  std::string text;
  if (stream.skip(begin_) == begin_) {
    if (packed_ > 0)
      UnpackedMember(stream, packed_, {}, shown()).read(text, std::min(most, size_));
    else
      stream.read(text, std::min(most, size_));
  }
  if (text.size() < std::min(most, size_)) refuse_given(shown(), "has changed while it was read; try again");
  return text;
}

struct GivenStream::Bytes {
  explicit Bytes(const fs::path& file) : unpacked(file) {}
  Unpacked unpacked;
  std::optional<UnpackedMember> member;  // if the file is packed in its archive
};

GivenStream::GivenStream(GivenFile file) : file_(std::move(file)), bytes_(std::make_unique<Bytes>(file_.file_)), left_(file_.size_) {
  if (bytes_->unpacked.skip(file_.begin_) < file_.begin_) refuse("has changed while it was read; try again");
  if (file_.packed_ > 0) bytes_->member.emplace(bytes_->unpacked, file_.packed_, std::string(), file_.shown());
}

GivenStream::~GivenStream() = default;

std::string_view GivenStream::next() {
  const std::string_view piece = bytes_->member ? bytes_->member->piece(left_) : bytes_->unpacked.piece(left_);
  if (piece.empty() && left_ > 0) refuse("has changed while it was read; try again");
  left_ -= piece.size();
  return piece;
}

void GivenStream::refuse(const std::string& sentence) const { refuse_given(file_.shown(), sentence); }

const GivenFile::Member* GivenFile::member_beside(const std::string& name) const {
  const fs::path wanted = (member_.parent_path() / name).lexically_normal();
  const auto found = std::ranges::find_if(*members_, [&](const Member& member) { return member.path.lexically_normal() == wanted; });
  return found == members_->end() ? nullptr : &*found;
}

bool GivenFile::has_beside(const std::string& name) const {
  std::error_code error;
  return in_archive() ? member_beside(name) != nullptr : fs::is_regular_file(file_.parent_path() / name, error);
}

GivenFile GivenFile::beside(const std::string& name) const {
  if (in_archive()) {
    const Member& member = *member_beside(name);
    GivenFile other = *this;
    other.member_ = member.path;
    other.begin_ = member.begin;
    other.size_ = member.size;
    other.packed_ = member.packed;
    return other;
  }
  const fs::path file = file_.parent_path() / name;
  GivenFile other;
  if (for_each_file(file, [&](const GivenFile& each, const FileStart&) { other = each; }))
    refuse_given(file, "is an archive; unpack it, and name a file in it");
  return other;
}

bool for_each_file(const fs::path& file, const std::function<void(const GivenFile& file, const FileStart& start)>& seen) {
  Unpacked stream(file);
  std::string start;
  stream.read(start, block);
  GivenFile given;
  given.file_ = file;
  if (!tar_header(start)) {
    stream.read(start, file_start_bytes - start.size());
    given.size_ = stream.packed() ? start.size() + stream.skip(UINTMAX_MAX) : stream.packed_size();
    seen(given, {start, given.size_});
    return false;
  }
  const auto members = std::make_shared<std::vector<GivenFile::Member>>();
  given.members_ = members;
  Tar tar(file, stream, std::move(start));
  while (const std::optional<TarHeader> header = tar.next()) {
    given.member_ = header->name;
    given.begin_ = stream.position();
    given.size_ = header->size;
    given.packed_ = 0;
    start.clear();
    std::uintmax_t left = header->size;
    stream.read(start, std::min<std::uintmax_t>(2, left));
    left -= start.size();
    if (start == "\x1F\x8B") {
      given.packed_ = header->size;
      UnpackedMember member(stream, given.packed_, std::exchange(start, {}), given.shown());
      member.read(start, file_start_bytes);
      given.size_ = member.skip_all();
      left = member.left();
    } else {
      const std::uintmax_t more = std::min<std::uintmax_t>(file_start_bytes - start.size(), left);
      stream.read(start, more);
      if (start.size() < std::min<std::uintmax_t>(file_start_bytes, header->size)) tar.cut_off(header->name);
      left -= more;
    }
    members->push_back({given.member_, given.begin_, given.size_, given.packed_});
    seen(given, {start, given.size_});
    tar.pass(left, header->name);
  }
  return true;
}

}  // namespace straggler
