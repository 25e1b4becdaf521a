#include "scenarios/serve/dropped_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "scenarios/import/import_format.hpp"
#include "scenarios/report/import_page.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/serve/gate.hpp"
#include "sim/base/problem_text.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/token.hpp"

namespace straggler {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* dropped_stem = "dropped";
constexpr const char* imported_folder = "imported";
constexpr const char* inside = "job";  // a folder of files with plain names, as "rank0", names the import

/// The name of a file alone, as the browser gives it.
std::string plain_name(const Json& file) {
  const bool named = file.is_object() && file.contains("name") && file["name"].is_string();
  const std::string name = named ? file["name"].get<std::string>() : std::string();
  constexpr std::size_t longest = 200;
  const bool hidden = name.empty() || name.front() == '.' || name.size() > longest;
  if (hidden || std::ranges::any_of(name, [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    throw std::invalid_argument(fmt::format("'{}' is no name of a file; rename it", shown_text(shortened(name, longest))));
  return name;
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
  return text;
}

/// NAME, NAME-2, …: nothing is replaced.
std::string free_name(const fs::path& place, const std::string& name) {
  std::error_code error;
  std::string free = name;
  for (int number = 2; fs::exists(fs::symlink_status(place / free, error)); ++number) free = fmt::format("{}-{}", name, number);
  return free;
}

}  // namespace

DroppedFiles::~DroppedFiles() {
  if (thread_.joinable()) thread_.join();
  clear();
}

void DroppedFiles::clear() {
  std::error_code ignored;
  if (!folder_.path.empty()) fs::remove_all(folder_.path, ignored);
  if (folder_.lock >= 0) ::close(folder_.lock);
  folder_ = {};
  files_.clear();
  drop_.clear();
}

std::string DroppedFiles::open(const Json& files) {
  const std::lock_guard lock(mutex_);
  if (busy_) throw std::invalid_argument("another import goes on; wait for its end");
  if (!files.is_array() || files.empty()) throw std::invalid_argument("files is empty; name at least one");
  if (files.size() > most_files)
    throw std::invalid_argument(fmt::format("these are {} files; at most {} are one import", files.size(), readable_count(most_files)));
  std::vector<File> all;
  std::uint64_t bytes = 0;
  for (const Json& each : files) {
    File& file = all.emplace_back(File{plain_name(each), 0, false});
    if (!each.contains("bytes") || !each["bytes"].is_number_unsigned())
      throw std::invalid_argument(fmt::format("{}: its bytes are missing; give their number", shown_text(file.name)));
    file.bytes = each["bytes"].get<std::uint64_t>();
    bytes += std::min(file.bytes, most_bytes + 1);
    if (std::ranges::count(all, file.name, &File::name) > 1)
      throw std::invalid_argument(fmt::format("two files are called {}; rename one", shown_text(file.name)));
  }
  if (bytes > most_bytes)
    throw std::invalid_argument(fmt::format("these are {}; at most {} are taken here: use `straggler import` on a terminal",
                                            readable_bytes(static_cast<double>(bytes)), readable_bytes(static_cast<double>(most_bytes))));
  clear();
  remove_abandoned(root_, {dropped_stem});
  std::error_code error;
  folder_ = make_hidden_folder(root_, dropped_stem, error);
  if (folder_.path.empty())
    throw std::invalid_argument(
        fmt::format("{}: nothing can be written there ({}); serve another folder", root_.string(), error.message()));
  fs::create_directory(folder_.path / inside, error);
  files_ = std::move(all);
  return drop_ = new_token();
}

fs::path DroppedFiles::place(const std::string& drop, std::size_t index, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (drop_.empty() || drop != drop_ || busy_ || index >= files_.size())
    throw std::invalid_argument("another drop came; drop the files again");
  if (bytes != files_[index].bytes) throw std::invalid_argument("the file has another size than announced; drop it again");
  if (files_[index].there) throw std::invalid_argument("the file is there already; drop the files again");
  return folder_.path / inside / files_[index].name;
}

void DroppedFiles::arrived(const std::string& drop, std::size_t index) {
  const std::lock_guard lock(mutex_);
  if (drop == drop_ && index < files_.size()) files_[index].there = true;
}

void DroppedFiles::import(const std::string& drop, Done done) {
  const std::lock_guard lock(mutex_);
  if (drop_.empty() || drop != drop_ || busy_) throw std::invalid_argument("another drop came; drop the files again");
  std::vector<fs::path> paths;
  for (const File& file : files_) {
    if (!file.there) throw std::invalid_argument(fmt::format("{}: has not arrived; drop the files again", shown_text(file.name)));
    paths.push_back(folder_.path / inside / file.name);
  }
  if (thread_.joinable()) thread_.join();  // it is through, since nobody is busy
  busy_ = true;
  thread_ = std::thread([this, paths = std::move(paths), done = std::move(done)] {
    Json answer;
    try {
      answer = imported(paths);
    } catch (const std::exception& error) {
      answer = {{"problem", without(problem_text(error), (folder_.path / inside).string() + "/")}};
    }
    {
      const std::lock_guard ended(mutex_);
      clear();
      busy_ = false;
    }
    done(std::move(answer));
  });
}

Json DroppedFiles::imported(const std::vector<fs::path>& files) const {
  const Imported made = import_files({.files = files, .format = {}, .options = {}, .held_out = {}});
  const std::string name = free_name(root_ / imported_folder, made.name);
  const fs::path shown = fs::path(imported_folder) / name, out = root_ / shown;
  write_whole_files(out, made.files);
  Json answer{{"name", name}, {"said", Json::array()}, {"folder", shown.generic_string()}, {"page", nullptr}, {"scenario", nullptr}};
  for (const auto& [label, sentence] : made.said) answer["said"].push_back({label, sentence});
  if (!made.next.empty()) answer["scenario"] = (shown / made.next).generic_string();
  if (const ImportedFolder folder(out); folder.is_job()) {
    write_whole_files(out, {{"report.html", import_page(folder)}});
    answer["page"] = (shown / "report.html").generic_string();
  }
  return answer;
}

}  // namespace straggler
