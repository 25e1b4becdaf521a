#include "scenarios/report/import_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/thinned.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_drawn_ranks = 12, most_listed_ranks = 256, most_drawn_buckets = 16, most_listed_buckets = 512;
constexpr std::size_t most_drawn_steps = 2000;
constexpr std::size_t measured_look = 7, replayed_look = 0;

/// "+1.2 %"
std::string change_text(double replayed, double measured) {
  const double percent = 100 * (replayed / measured - 1);
  return std::abs(percent) < 0.05 ? std::string("0.0 %") : fmt::format("{:+.1f} %", percent);
}

class ImportPage {
 public:
  explicit ImportPage(const ImportedFolder& folder)
      : folder_(folder), replayed_(folder.replayed(why_not_)), ranks_(folder.ranks()), buckets_(folder.buckets()) {
    const bool all_waits = std::ranges::all_of(ranks_, [](const auto& rank) { return rank.parts.wait.has_value(); });
    waits_known_ = all_waits && ranks_.size() > 1;
  }

  std::string html() {
    std::string body = fmt::format("<h1>{}</h1>\n", xml_text(title()));
    body += html_paragraph(fmt::format("From {} ({}).", some_files(), folder_.text("format")), "dim");
    body += numbers();
    body += html_paragraph(answer(), "answer");
    if (!replayed_) body += html_paragraph("The scenario is not replayed here: " + why_not_ + ".", "warning");
    if (std::vector<std::string> missing = folder_.sentences("missing"); !missing.empty()) {
      for (std::string& each : missing) each = "Missing: " + each;
      body += html_list(missing, "warning");
    }
    if (!ranks_.empty()) body += html_of(parts());
    std::vector<Figure> figures;
    if (waits_known_) figures.push_back(waits());
    if (std::ranges::any_of(buckets_, [](const auto& bucket) { return bucket.seconds > 0; })) figures.push_back(bucket_times());
    if (const auto steps = step_times()) figures.push_back(*steps);
    body += html_of(figures);
    if (!ranks_.empty()) body += "<h2>By rank</h2>\n" + rank_rows();
    if (!buckets_.empty()) body += "<h2>Buckets</h2>\n" + bucket_rows();
    if (const auto assumed = folder_.sentences("assumed"); !assumed.empty()) body += "<h2>Assumed</h2>\n" + html_list(assumed);
    const std::string scenario = (folder_.path() / "scenario.yaml").string();
    body += html_details("What to ask next", {"straggler check " + scenario, "straggler explain " + scenario + " --timing-only",
                                              "straggler validate " + (folder_.path() / "claim.yaml").string()});
    return html_page(title(), body + html_tables(tables(), ""));
  }

 private:
  std::string title() const {
    const std::string what = folder_.text("describes");
    return what.empty() ? "An imported job" : static_cast<char>(std::toupper(static_cast<unsigned char>(what[0]))) + what.substr(1);
  }
  std::string some_files() const {
    const std::vector<std::string> files = folder_.sentences("files");
    if (files.empty()) return "files that import.json does not name";
    return files.size() <= 3 ? listed(files) : fmt::format("{} and {} more files", files[0], files.size() - 1);
  }
  std::vector<std::string> tables() const {
    std::vector<std::string> there;
    std::error_code error;
    for (const char* file : {"import.json", "measured.csv", "layers.csv", "collectives.csv", "jitter.csv", "scenario.yaml"})
      if (std::filesystem::exists(folder_.path() / file, error)) there.emplace_back(file);
    return there;
  }

  // --- in five seconds

  const ImportedFolder::Rank* slowest() const {
    const auto found = std::ranges::max_element(ranks_, {}, [](const auto& rank) { return rank.parts.computing + rank.parts.loading; });
    return found == ranks_.end() ? nullptr : &*found;
  }

  std::string numbers() const {
    std::vector<LargeNumber> all;
    const auto add = [&all](std::string number, std::string what) { all.push_back({std::move(number), std::move(what)}); };
    add(readable_seconds(folder_.step()), "a step, measured");
    if (replayed_) {
      add(readable_seconds(replayed_->step), "a step, replayed");
      add(change_text(replayed_->step, folder_.step()), "replayed against measured");
    }
    if (const auto slowdown = folder_.number("S"))
      add(fmt::format("{:.2f}x", *slowdown), "as long as with even ranks (S)");
    else if (const auto busy = folder_.gpu_computing())
      add(share_text(std::min(1.0, *busy / folder_.step())), "of a step the GPU computes");
    else if (const auto* rank = slowest())
      add(share_text(std::min(1.0, rank->parts.rest / folder_.step())),
          rank->parts.wait ? "neither computing nor waiting" : "not computing: exchange and waiting");
    return html_numbers(all);
  }

  std::string answer() const {
    std::string words = fmt::format("A step takes {}", readable_seconds(folder_.step()));
    if (const std::size_t steps = folder_.steps().size(); steps > 1) words += fmt::format(", the mean of {}", readable_count(steps));
    if (replayed_)
      words += fmt::format("; its replay {}, over {} update{}", readable_seconds(replayed_->step), readable_count(replayed_->updates),
                           replayed_->updates == 1 ? "" : "s");
    words += ".";
    if (const auto* rank = slowest()) {
      const double work = rank->parts.computing + rank->parts.loading;
      const std::string who =
          ranks_.size() > 1 ? fmt::format("Rank {}, which works longest,", rank->rank) : fmt::format("Rank {}", rank->rank);
      words += fmt::format(" {} works {} of it", who, share_text(std::min(1.0, work / folder_.step())));
      if (rank->parts.loading > 0.01 * folder_.step())
        words += fmt::format(" ({} waiting for a batch)", share_text(std::min(1.0, rank->parts.loading / folder_.step())));
      words += ".";
    }
    if (waits_known_) {
      const auto most = std::ranges::max_element(ranks_, {}, [](const auto& rank) { return *rank.parts.wait; });
      if (*most->parts.wait > 0.001 * folder_.step())
        words += fmt::format(" Rank {} waits longest for others, {} a step.", most->rank, readable_seconds(*most->parts.wait));
    }
    return words;
  }

  // --- pictures

  /// Of many ranks those that work longest, and the one that works least; in order.
  std::vector<ImportedFolder::Rank> drawn_ranks() const {
    std::vector<ImportedFolder::Rank> some = ranks_;
    if (some.size() <= most_drawn_ranks) return some;
    std::ranges::stable_sort(some, std::greater<>(), [](const auto& rank) { return rank.parts.computing + rank.parts.loading; });
    some[most_drawn_ranks - 1] = some.back();
    some.resize(most_drawn_ranks);
    std::ranges::stable_sort(some, {}, &ImportedFolder::Rank::rank);
    return some;
  }
  std::string some_words() const {
    return ranks_.size() <= most_drawn_ranks
               ? std::string()
               : fmt::format(" Drawn are the {} ranks that work longest, and the one that works least.", most_drawn_ranks - 1);
  }
  const StepParts* replayed_parts(const ImportedFolder::Rank& rank) const {
    return replayed_ && rank.worker < replayed_->workers.size() ? &replayed_->workers[rank.worker] : nullptr;
  }

  Figure parts() const {
    StackChart chart;
    chart.label = "A step, measured and replayed";
    chart.title = "seconds of a step";
    chart.text = readable_seconds;
    const std::vector<ImportedFolder::Rank> drawn = drawn_ranks();
    bool loading = false;
    for (const auto& rank : drawn) loading = loading || rank.parts.loading > 0;
    chart.parts.push_back({"computing", "computing"});
    if (loading) chart.parts.push_back({"loading", "loading"});
    if (waits_known_) chart.parts.push_back({"waiting for other ranks", "idle"});
    chart.parts.push_back({waits_known_ ? "the rest: exchange" : "the rest: exchange and waiting", "communicating"});
    const auto add = [&](std::string name, const StepParts& from) {
      std::vector<double> row{from.computing};
      if (loading) row.push_back(from.loading);
      if (waits_known_) row.push_back(from.waiting);
      row.push_back(from.rest + (waits_known_ ? 0 : from.waiting));
      chart.names.push_back(std::move(name));
      chart.values.push_back(std::move(row));
    };
    for (const auto& rank : drawn) {
      add(fmt::format("rank {}, measured", rank.rank), rank.parts);
      if (const StepParts* parts = replayed_parts(rank)) add(fmt::format("rank {}, replayed", rank.rank), *parts);
    }
    Figure figure = figure_of(
        chart.label,
        std::string(waits_known_ ? "Waiting is that in collectives for ranks that come later, as far as computing does not hide it."
                                 : "Waiting for other ranks is not told from "
                                   "exchange: that needs all ranks.") +
            some_words(),
        chart);
    figure.full = true;
    return figure;
  }

  static IntervalRow bar_of(const std::string& name, double seconds, std::size_t look) {
    return {name, readable_seconds(seconds), look, false, false, seconds, seconds, seconds};
  }

  Figure waits() const {
    IntervalChart chart;
    chart.label = "Waiting for other ranks";
    chart.title = "seconds of a step, those behind computing too";
    chart.text = readable_seconds;
    for (const auto& rank : drawn_ranks()) {
      IntervalGroup group{fmt::format("Rank {}", rank.rank), {bar_of("measured", *rank.parts.wait, measured_look)}};
      if (const StepParts* parts = replayed_parts(rank); parts && parts->wait)
        group.rows.push_back(bar_of("replayed", *parts->wait, replayed_look));
      chart.groups.push_back(std::move(group));
    }
    return figure_of(chart.label, "The rank that waits least is the one that the others wait for." + some_words(), chart);
  }

  std::string bucket_size(std::size_t i) const { return buckets_[i].bytes ? readable_bytes(*buckets_[i].bytes) : "size unknown"; }
  std::optional<double> replayed_bucket(std::size_t i) const {
    if (!replayed_ || i >= replayed_->buckets.size() || replayed_->buckets[i].count == 0) return std::nullopt;
    return replayed_->buckets[i].seconds;
  }

  Figure bucket_times() const {
    IntervalChart chart;
    chart.label = "Exchange of each bucket";
    chart.title = "seconds of its collective";
    chart.text = readable_seconds;
    for (std::size_t i = 0; i < std::min(buckets_.size(), most_drawn_buckets); ++i) {
      IntervalGroup group{fmt::format("Bucket {}, {}", i + 1, bucket_size(i)), {bar_of("measured", buckets_[i].seconds, measured_look)}};
      if (const auto seconds = replayed_bucket(i)) group.rows.push_back(bar_of("replayed", *seconds, replayed_look));
      chart.groups.push_back(std::move(group));
    }
    std::string words = "In the order in which they leave.";
    if (buckets_.size() > most_drawn_buckets) words += fmt::format(" Drawn are the first {} of {}.", most_drawn_buckets, buckets_.size());
    return figure_of(chart.label, words, chart);
  }

  std::optional<Figure> step_times() const {
    const std::vector<double> seconds = folder_.steps();
    if (seconds.size() < 3) return std::nullopt;
    LineChart chart;
    chart.label = "Measured steps";
    chart.x.title = "step";
    chart.x.text = readable_number;
    chart.y_title = "seconds";
    chart.y_text = readable_seconds;
    chart.linear_x = chart.linear_y = true;
    chart.x_from_zero = false;
    Curve curve{"measured", measured_look, {}, {}};
    for (const std::size_t i : thinned(seconds, most_drawn_steps)) {
      ChartPoint& point = curve.points.emplace_back();
      point.x = static_cast<double>(i + 1);
      point.mean = seconds[i];
      point.tip = fmt::format("step {}: {}", i + 1, readable_seconds(seconds[i]));
      chart.x.numbers.push_back(point.x);
    }
    chart.curves.push_back(std::move(curve));
    if (replayed_) {
      chart.ideal = {{1, replayed_->step}, {static_cast<double>(seconds.size()), replayed_->step}};
      chart.ideal_name = "replayed, mean";
    }
    return figure_of(chart.label, {}, chart);
  }

  // --- tables

  std::string rank_rows() const {
    std::vector<std::vector<std::string>> rows;
    const auto seconds = [](const std::optional<double>& value) { return value ? readable_seconds(*value) : std::string("-"); };
    for (std::size_t i = 0; i < std::min(ranks_.size(), most_listed_ranks); ++i) {
      const auto& rank = ranks_[i];
      const StepParts* again = replayed_parts(rank);
      rows.push_back({fmt::format("{}", rank.rank), seconds(rank.forward), seconds(rank.backward), seconds(rank.update),
                      seconds(rank.between), seconds(rank.parts.computing), again ? seconds(again->computing) : "-",
                      seconds(rank.parts.loading), again ? seconds(again->loading) : "-", seconds(rank.parts.wait),
                      again && waits_known_ ? seconds(again->wait) : "-"});
    }
    std::string out = html_table({"rank", "forward", "backward", "update", "between", "computing, in all", "replayed", "loading",
                                  "replayed", "waits for others", "replayed"},
                                 rows, 1, rows.size());
    if (ranks_.size() > most_listed_ranks)
      out += html_paragraph(fmt::format("The first {} of {} ranks; import.json has all.", most_listed_ranks, ranks_.size()), "dim");
    return out;
  }

  std::string bucket_rows() const {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < std::min(buckets_.size(), most_listed_buckets); ++i) {
      const ImportedFolder::Bucket& bucket = buckets_[i];
      const auto seconds = replayed_bucket(i);
      rows.push_back({fmt::format("{}", i + 1), bucket.bytes ? count_text(*bucket.bytes) : "-",
                      bucket.elements ? count_text(*bucket.elements) : "-", bucket.ready ? share_text(*bucket.ready) : "-",
                      readable_seconds(buckets_[i].seconds), seconds ? readable_seconds(*seconds) : "-",
                      seconds && buckets_[i].seconds > 0 ? change_text(*seconds, buckets_[i].seconds) : "-"});
    }
    std::string out =
        html_table({"bucket", "bytes", "elements", "ready, of backward", "measured", "replayed", "difference"}, rows, 1, rows.size());
    if (buckets_.size() > most_listed_buckets)
      out += html_paragraph(fmt::format("The first {} of {} buckets; import.json has all.", most_listed_buckets, buckets_.size()), "dim");
    return out;
  }

  const ImportedFolder& folder_;
  std::string why_not_;
  std::optional<ReplayedJob> replayed_;
  std::vector<ImportedFolder::Rank> ranks_;
  std::vector<ImportedFolder::Bucket> buckets_;
  bool waits_known_ = false;
};

}  // namespace

std::string import_page(const ImportedFolder& folder) { return ImportPage(folder).html(); }

}  // namespace straggler
