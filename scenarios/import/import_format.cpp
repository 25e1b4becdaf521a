#include "scenarios/import/import_format.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/formats/model_file.hpp"
#include "models/formats/reading.hpp"
#include "models/formats/seems.hpp"
#include "scenarios/import/hold_out.hpp"
#include "scenarios/import/model_import.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_import(const std::string& what, const std::string& sentence) { throw DataError(what + ": " + sentence); }

std::string file_names(const std::vector<GivenFile>& files) {
  std::vector<std::string> names;
  for (const GivenFile& file : files) names.push_back(file.shown().string());
  return names.size() <= 4 ? listed(names) : fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
}

ImportFormat row_of(const ModelFormat& format) {
  return {.name = format.name,
          .summary = format.summary,
          .example = format.example,
          .yields = "a model",
          .parameters = format.parameters,
          .recognizes = format.recognizes,
          .read =
              [&format](const std::vector<GivenFile>& files, const Parameters& options) {
                if (files.size() > 1) refuse_import(file_names(files), "describe a model each; name one of them");
                return import_model(format, files.front(), options);
              },
          .joins =
              [&format](const std::vector<GivenFile>& files, Companions& companions) {
                if (files.size() > 1 || companions.model)
                  refuse_import(file_names(files), "and others describe a model each; name one of them");
                companions.model = read_model_file(format, files.front(), {}).table;
                companions.model_file = on_one_line(files.front().path().filename().string());
              }};
}

constexpr std::string_view topologies = "a host";  // what formats yield that join any job

constexpr const char* what_can_be_imported = "see `straggler list imports`";

const ImportFormat& format_called(const std::string& name) {
  std::vector<std::string> known;
  for (const ImportFormat& format : import_formats()) {
    if (format.name == name) return format;
    known.push_back(format.name);
  }
  throw DataError(unknown_name("format", name, known, "straggler list imports"));
}

/// The given files by the formats that recognize them.
class Sorted {
 public:
  /// `wanted`: no other format; null: any. `otherwise`: what else helps against a file of another one.
  explicit Sorted(const ImportFormat* wanted, const char* otherwise = ", or remove --as") : wanted_(wanted), otherwise_(otherwise) {}

  void add(const fs::path& path) {
    const std::size_t before = count_;
    std::string seems;
    std::vector<std::string> passed;
    const bool archive = for_each_file(path, [&](const GivenFile& file, const FileStart& start) {
      const ImportFormat* const format = format_of(start);
      if (format && (!wanted_ || format == wanted_)) {
        files_of(*format).push_back(file);
        ++count_;
        return;
      }
      passed.push_back(shown_text(shortened(file.path().string(), 200)));
      seems = format ? "is " + format->summary : what_it_seems(start);
    });
    const std::string expected = wanted_ ? fmt::format("give {}{}", wanted_->summary, otherwise_) : std::string(what_can_be_imported);
    if (count_ == before && archive)
      refuse_import(path.string(), fmt::format("is an archive of {}, none of which can be imported{}; {}",
                                               passed.size() == 1 ? "1 file" : fmt::format("{} files", passed.size()),
                                               passed.size() == 1 ? fmt::format(" ({} {})", passed[0], seems) : "", expected));
    if (count_ == before) refuse_import(path.string(), fmt::format("{}; {}", seems, expected));
    passed_over_.insert(passed_over_.end(), passed.begin(), passed.end());
  }

  struct Group {
    const ImportFormat* format;
    std::vector<GivenFile> files;
  };
  /// The group of a job among groups that can join it; of a model among topologies that; of one group that. Throws DataError if there is no
  /// such job.
  const Group& main() const {
    if (groups_.size() == 1) return groups_.front();
    const auto is_host = [](const Group& group) { return group.format->yields == topologies; };
    const auto other = std::ranges::find_if_not(groups_, is_host);
    if (std::ranges::count_if(groups_, is_host) + 1 == std::ssize(groups_) && other->format->yields == "a model") return *other;
    const Group* job = nullptr;
    bool fit = true, more = false;
    for (const Group& group : groups_) {
      if (!group.format->joins) {
        fit = fit && job == nullptr;
        job = &group;
      } else {
        more = more || group.format->yields != topologies;
      }
    }
    if (fit && job != nullptr && job->format->yields == "a job" && (!more || job->format->read_with)) return *job;
    std::vector<std::string> all;
    for (const Group& group : groups_) all.push_back(fmt::format("{} ({})", file_names(group.files), group.format->name));
    refuse_import(listed(all), "can each be imported alone; name one of them, or its format with --as");
  }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }

 private:
  const ImportFormat* format_of(const FileStart& start) const {
    if (wanted_ && wanted_->recognizes(start)) return wanted_;
    for (const ImportFormat& format : import_formats())
      if (format.recognizes(start)) return &format;
    return nullptr;
  }
  std::vector<GivenFile>& files_of(const ImportFormat& format) {
    for (Group& group : groups_)
      if (group.format == &format) return group.files;
    return groups_.emplace_back(&format, std::vector<GivenFile>()).files;
  }

  const ImportFormat* wanted_;
  const char* otherwise_;
  std::vector<Group> groups_;
  std::vector<std::string> passed_over_;  // of archives
  std::size_t count_ = 0;
};

/// Refuses one that the format does not read.
void check_options(const ImportFormat& format, const Parameters& options, const std::string& shown) {
  for (const auto& [name, value] : options.all()) {
    const bool reads = std::ranges::any_of(format.parameters, [&](const Parameter& parameter) { return parameter.name == name; });
    if (!reads)
      throw DataError(fmt::format("{}: is {}, which does not read --{}; remove it", shown, format.summary, option_name(name)), name);
  }
}

}  // namespace

const std::vector<ImportFormat>& import_formats() {
  static const std::vector<ImportFormat> all = [] {
    std::vector<ImportFormat> rows;
    for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) rows.push_back(row_of(format));
    for (const ImportFormat& format : Registry<ImportFormat>::instance().entries()) rows.push_back(format);
    std::ranges::stable_sort(rows, {}, &ImportFormat::yields);
    return rows;
  }();
  return all;
}

std::vector<ImportOption> import_options() {
  std::vector<ImportOption> all;
  for (const ImportFormat& format : import_formats())
    for (const Parameter& parameter : format.parameters) {
      const auto found = std::ranges::find_if(all, [&](const ImportOption& option) { return option.parameter.name == parameter.name; });
      (found == all.end() ? all.emplace_back(parameter, std::vector<std::string>()) : *found).formats.push_back(format.name);
    }
  return all;
}

Imported import_files(const ImportRequest& request) {
  Sorted sorted(request.format.empty() ? nullptr : &format_called(request.format));
  for (const fs::path& file : request.files) sorted.add(file);
  const auto& [format, files] = sorted.main();
  check_options(*format, request.options, file_names(files));
  std::optional<Sorted> held;
  if (!request.held_out.empty()) {
    held.emplace(format, ", as the files that are imported");
    for (const fs::path& file : request.held_out) held->add(file);
  }
  Companions companions;
  std::vector<std::string> joined;
  for (const Sorted::Group& group : sorted.groups()) {
    if (group.format == format) continue;
    group.format->joins(group.files, companions);
    for (const GivenFile& file : group.files) joined.push_back(on_one_line(file.path().filename().string()));
  }
  const auto read = [&](const std::vector<GivenFile>& these) {
    return format->read_with ? format->read_with(these, request.options, companions) : format->read(these, request.options);
  };
  Imported imported = held && format->predict ? format->predict(files, held->main().files) : read(files);
  if (const auto& hosts = companions.topology) {
    if (imported.on_hosts)
      imported = imported.on_hosts(*hosts);
    else
      imported.said.emplace_back("hosts", fmt::format("the scenario does not use {}: {}", hosts->file, imported.off_hosts));
    imported.files.emplace_back("topology.yaml", hosts->yaml);
  }
  if (held && !format->predict) {
    const std::vector<GivenFile>& these = held->main().files;
    if (imported.next.empty()) refuse_import(file_names(files), "describes no job that runs, so nothing is predicted; remove --hold-out");
    hold_out(imported, read(these), file_names(these));
  }
  if (!joined.empty()) imported.said.emplace_back("with", listed(joined));
  if (!sorted.passed_over().empty()) imported.said.emplace_back("passed over", some_of(sorted.passed_over(), 3));
  std::ranges::sort(imported.files);
  return imported;
}

}  // namespace straggler
