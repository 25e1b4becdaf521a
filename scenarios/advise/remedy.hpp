// What people can change about a job, a row each: the settings that it tries, or why it does not apply here. Three lists: the same machines
// with the same learning (A), with other learning (B), and other machines (C).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/advise/import_facts.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/reasons/interventions.hpp"

namespace straggler {

enum class RemedyList { same_learning, other_learning, other_machines };
/// "A", "B", "C".
const char* letter_of(RemedyList list);

/// A job to advise. Its parts outlive it.
struct AdvisedJob {
  const Scenario& scenario;
  const Blueprint& blueprint;
  const ImportFacts* facts = nullptr;  // null: the scenario is not imported
};

/// One setting.
struct Attempt {
  std::string setting;                       // "25 MiB", "worker 3"
  std::vector<std::string> sets = {};        // PATH=VALUE, as --set takes them; empty: a bound
  std::optional<Counterfactual> bound = {};  // what no setting reaches
  std::optional<double> known_seconds = {};  // of a step, where the files say it: nothing is run
  std::int64_t batch_factor = 1;             // samples of an update, times those of the job
  std::string note = {};
};

struct Attempts {
  std::vector<Attempt> all = {};
  std::string why_not = {};  // why the remedy is left out; empty: it is tried
};

struct Remedy {
  RemedyList list;
  const char* name;
  const char* learning;  // what it does to what is learned
  bool same_updates;     // each update is the same, at another time
  Attempts (*attempts)(const AdvisedJob& job);
};

/// By list, each in the order in which equal gains are named.
const std::vector<Remedy>& remedies();
std::vector<std::string> remedy_names();
std::vector<Remedy> same_learning_remedies(), other_learning_remedies(), other_machine_remedies();

/// One of the first list, and one of the last.
Remedy checkpoint_interval_remedy();
Remedy spares_remedy();

/// Attempts of none: why.
inline Attempts left_out(std::string why) { return {{}, std::move(why)}; }
/// Whether all-reduces take the times that an import found, or none where it found none.
bool has_given_times(const AdvisedJob& job);
/// Why messages, links and all-reduces cannot be changed here; empty: they can.
std::string why_no_messages(const AdvisedJob& job);
/// The same of the all-reduce alone.
std::string why_no_all_reduce(const AdvisedJob& job);
/// "cluster.workers[2]"
std::string group_path(std::size_t group);
/// Of a link that has one bandwidth both ways, or both.
std::vector<std::string> link_sets(const std::string& path, const LinkSpec& link, double factor);
/// "PATH.link=…": as this one.
std::vector<std::string> like_link(const std::string& path, const LinkSpec& link);
/// Whether a worker's way out is as wide.
bool as_wide(const LinkSpec& link, const LinkSpec& other);
/// A server, for a scheme that needs one.
void add_server(const AdvisedJob& job, std::vector<std::string>& sets);

}  // namespace straggler
