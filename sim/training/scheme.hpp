// A training scheme: one coroutine per worker, one for the parameter server and one per aggregator, if it has them. One file per scheme.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/base/choice_table.hpp"
#include "sim/base/parameters.hpp"
#include "sim/base/rank.hpp"
#include "sim/base/registry.hpp"
#include "sim/engine/process.hpp"
#include "sim/training/average.hpp"
#include "sim/training/client_selection.hpp"
#include "sim/training/fact.hpp"
#include "sim/training/versions.hpp"

namespace straggler {

class Node;

/// Immutable: all state of a run lives in the coroutines. Talks to the world through Node only.
class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual Process worker(Node& node) const = 0;
  /// Not called for schemes without a server.
  virtual Process server(Node& node) const;
  /// Not called for schemes without aggregators.
  virtual Process aggregator(Node& node) const;
};

/// The other workers' reaction to a crash. A scheme declares the reactions that it supports; the first one is its default:
///  - wait: they wait until it is back; it starts again from the latest version.
///  - drop: they continue without it; it takes part again when it is back.
///  - abort: the run ends.
/// Nobody waits for a worker that has left for good or has not joined yet.
enum class OnFailure { wait, drop, abort };
inline constexpr ChoiceTable<OnFailure> failure_choice("on_failure",
                                                       {{OnFailure::wait, "wait"}, {OnFailure::drop, "drop"}, {OnFailure::abort, "abort"}});
/// The parameter of a scheme that supports these.
Parameter on_failure(std::initializer_list<OnFailure> choices, const std::string& meaning);

/// Whole numbers: one that a scenario states; one with a default; and one that may be absent.
Parameter required_count(const std::string& name, const std::string& meaning, const Range& range = Range::at_least(1));
Parameter count_or(const std::string& name, const std::string& fallback, const std::string& meaning,
                   const Range& range = Range::at_least(1));
Parameter optional_count(const std::string& name, const std::string& meaning, const Range& range = Range::at_least(1));

/// How the workers of a scheme exchange their results.
enum class Exchange {
  none,        // no messages: one worker alone, or workers that share their host's memory
  server,      // with a parameter server, which the cluster must have
  all_reduce,  // by all-reduce: each worker publishes, worker 0's versions are recorded
  peers        // by messages to each other
};
std::string_view name_of(Exchange exchange);
inline constexpr ChoiceTable<Exchange> via_choice("via", {{Exchange::all_reduce, "all_reduce"}, {Exchange::server, "server"}});
/// By the parameter `via`: all_reduce or server.
Exchange exchange_via(const Parameters& parameters);

/// The kind of scheme: which processes wait for which, and which ones exchange.
///  - synchronous: all gradients of an update are taken at the same weights.
///  - asynchronous: the server, or a shared memory, takes gradients of older weights.
///  - local: workers take steps of their own between two averages of all.
///  - gossip: workers average with their neighbours.
///  - federated: a server invites clients, which train on data of their own.
enum class Family { synchronous, asynchronous, local, gossip, federated };
inline constexpr ChoiceTable<Family> family_choice("family", {{Family::synchronous, "synchronous"},
                                                              {Family::asynchronous, "asynchronous"},
                                                              {Family::local, "local"},
                                                              {Family::gossip, "gossip"},
                                                              {Family::federated, "federated"}});

/// Whose failure takes a run back to its latest checkpoint (training.recovery: rollback).
///  - never: the scheme cannot start again from a version: its workers' states belong to no version, or are not all known to a checkpoint.
///  - together: any failure; all start again from one version.
///  - server: that of the server, or of the whole job. The others do without a worker that fails, as on_failure says.
enum class RollsBack { never, together, server };
inline constexpr ChoiceTable<RollsBack> rolls_back_choice("rolls_back", {{RollsBack::never, "never"},
                                                                         {RollsBack::together, "together"},
                                                                         {RollsBack::server, "server"}});

/// The weights that a worker holds between two updates, for the memory estimate: the common ones; a version that may be older than the
/// others'; or its own, with its optimizer's state, after local steps.
enum class WorkersHold { same_version, own_version, own_weights };

/// An optimizer by its registered name.
struct OptimizerChoice {
  std::string kind;
  Parameters parameters;
};

/// Parameters by name, as a scenario writes them: {{"steps", "3"}, {"via", "server"}}.
using ParameterTexts = std::map<std::string, std::string>;

/// The workers' contributions to an update.
struct UpdateContributions {
  std::string text = "p";  // as a formula: "k", "(p - b)"
  /// None: it is not fixed.
  PlanFact<std::optional<double>> count = of_all_workers;
  std::string distinct = {};  // the parameter that states it, where each contribution is of a different worker
  std::string any = {};       // the parameter that states it, where one worker may make several
  std::string batches = {};   // the parameter that states the local steps in a contribution; empty: one batch

  static std::optional<double> of_all_workers(const Parameters&, const TrainingPlan& plan);
};
UpdateContributions one_contribution();
/// As many as that parameter says: from any workers, or each from a different one. `symbol`: its name in formulas, if that is another.
UpdateContributions from_any_workers(const std::string& parameter, const std::string& symbol = {});
UpdateContributions from_different_workers(const std::string& parameter);

/// Bounds the staleness τ of every contribution to an update while no worker fails: updates published between reading the weights and the
/// update with the contribution, which is not counted itself.
struct StalenessBound {
  std::string text = "0";  // as a formula
  /// None: there is no bound.
  PlanFact<std::optional<std::uint64_t>> most = 0;
};
/// For schemes in which no worker waits for a slow one, and no contribution is dropped.
StalenessBound unbounded_staleness();

/// Bytes of all messages of an update, over all workers, in multiples of d, the bytes of the weights. An all-reduce counts as a ring; words
/// without a vector are left out.
struct UpdateBytes {
  double update = 0;   // per update
  double dropped = 0;  // and per dropped contribution
};
struct UpdateTraffic {
  std::string text;  // as a formula in d
  /// None: it depends on timing, not on the parameters.
  PlanFact<std::optional<UpdateBytes>> bytes = std::nullopt;
};

/// What a scheme does unless its entry says otherwise. A fact follows from facts before it.
namespace usual {
Exchange exchange(Family family);
UpdateContributions contributions(Family family);
Fact<bool> asynchronous(Family family, const UpdateContributions& contributions);
std::string waits(Family family, const Fact<Exchange>& exchange, const Fact<bool>& asynchronous, const UpdateContributions& contributions);
std::string batch_is(Family family, const UpdateContributions& contributions);
StalenessBound staleness(const Fact<bool>& asynchronous);
/// Each contribution goes to the server, which answers it; or one all-reduce. Of messages between workers the entry says it. Averaged
/// momentum travels with the weights.
UpdateTraffic traffic(Family family, const Fact<Exchange>& exchange, const UpdateContributions& contributions);
Versions versions(Family family, const Fact<bool>& asynchronous);
Fact<std::optional<Average::By>> average(const Fact<Exchange>& exchange, const Fact<Versions>& versions);
PlanFact<std::int64_t> answers_together(const UpdateContributions& contributions);
std::vector<ParameterTexts> plain_sgd_alone(Family family, const Fact<Exchange>& exchange, const UpdateContributions& contributions);
PlanFact<std::optional<double>> updates_per_epoch(const UpdateContributions& contributions);
PlanFact<std::string> unfit(const UpdateContributions& contributions);
Fact<bool> sends_gradients(Family family, const Fact<Exchange>& exchange);
std::string not_compressible(Family family, const ParameterTexts& with_compression);
WorkersHold workers_hold(Family family, const Fact<bool>& asynchronous, const UpdateContributions& contributions);
std::size_t worker_bytes(const Fact<Versions>& versions);
/// Together where an update needs all workers; server where it does not.
Fact<RollsBack> rolls_back(Family family, const Fact<Exchange>& exchange, const UpdateContributions& contributions, bool one_process);
}  // namespace usual

/// SchemeEntry::make of a class that is made of the parameters.
template <class S>
std::unique_ptr<Scheme> made(const Parameters& parameters) {
  if constexpr (std::is_constructible_v<S, const Parameters&>)
    return std::make_unique<S>(parameters);
  else
    return std::make_unique<S>();
}

/// The rest of the program knows a scheme by this entry. Facts that are left out follow from `family`, `exchange`, `contributions`
/// and the facts before them as the braces state them that make the entry; those that are assigned later change no other.
struct SchemeEntry {
  std::string name, summary, reference;
  /// Names of it in other programs and papers, in lower case and without separators, for "did you mean".
  std::vector<std::string> other_names = {};
  Family family = Family::synchronous;
  Fact<Exchange> exchange = usual::exchange(family);
  UpdateContributions contributions = usual::contributions(family);
  /// False: every contribution to an update was computed from the version before it, and no worker contributes twice to one update.
  Fact<bool> asynchronous = usual::asynchronous(family, contributions);
  std::string rule = {};                                                            // the formula, in one line
  std::string paragraph = {};                                                       // strengths and costs, in a few sentences
  std::string waits = usual::waits(family, exchange, asynchronous, contributions);  // who waits for whom
  std::string batch_is = usual::batch_is(family, contributions);                    // what one batch of a worker is to the scheme
  StalenessBound staleness = usual::staleness(asynchronous);
  /// s(τ): what a contribution of that staleness counts, where a fresh one counts 1.
  std::function<double(const Parameters&, const TrainingPlan&, std::uint64_t)> damping = [](const Parameters&, const TrainingPlan&,
                                                                                            std::uint64_t) { return 1.0; };
  UpdateTraffic traffic = usual::traffic(family, exchange, contributions);
  /// Parameters of the picture in docs/schemes.md (four workers, scenarios/examples/four_workers.yaml); the others are as in variant_of().
  ParameterTexts picture = {};
  DeclaredParameters parameters = {};
  /// Sets of parameters to try, in addition to the defaults and each choice alone. If parameters are required, the first set has them all;
  /// the other sets and choices take missing ones from it.
  std::vector<ParameterTexts> examples = {};
  std::function<std::unique_ptr<Scheme>(const Parameters&)> make;
  /// Its workers all-reduce or all-gather in addition to `exchange`: beside a server, or among their messages.
  Fact<bool> reduces = false;
  /// Whose weights the versions are. The scheme's code is the same in each case: every worker publishes each of its updates.
  Fact<Versions> versions = usual::versions(family, asynchronous);
  /// What workers count in the means that make its versions. None: a version is no mean over workers, or the fastest decide who is in it.
  Fact<std::optional<Average::By>> average = usual::average(exchange, versions);
  /// True: a worker's next weights include its last contribution, since an update comes between. False: it may continue before that.
  bool answers_hold_own = contributions.any.empty();
  /// With `answers: in_turn`: the most answers that its server lets leave side by side (sim/training/answers.hpp).
  PlanFact<std::int64_t> answers_together = usual::answers_together(contributions);
  /// True: workers send one message after the other without waiting for an answer. So messages pile up before a server that handles fewer
  /// than they send.
  bool unanswered = false;
  /// Sets of parameters (as in `examples`) under which one worker equals plain SGD, bit for bit, if it takes its batch in one piece.
  std::vector<ParameterTexts> plain_sgd_alone = usual::plain_sgd_alone(family, exchange, contributions);
  /// Published updates in one pass over the data, if that number is fixed, from the plan's drawing rule.
  PlanFact<std::optional<double>> updates_per_epoch = usual::updates_per_epoch(contributions);
  /// Size of the pieces in which a worker takes its batch (TrainingPlan::minibatch); none: whole.
  Fact<std::optional<std::int64_t>> minibatch = std::nullopt;
  /// Number of pieces of the weights that workers share in the memory of their one host (Node::read_cell, Node::step_cell); each worker
  /// publishes its own additions. None: no shared weights.
  Fact<std::optional<std::int64_t>> cell_chunks = std::nullopt;
  /// The reason why it cannot run with this number of workers, and the right numbers; empty: it can.
  PlanFact<std::string> unfit = usual::unfit(contributions);
  std::optional<std::int64_t> only_workers = std::nullopt;  // runs on exactly this number of workers
  /// True: workers send gradients, or bring them to an all-reduce; false: weights, or nothing. training.compression compresses gradients
  /// directly, and weights as the difference from weights that both sides hold.
  Fact<bool> sends_gradients = usual::sends_gradients(family, exchange);
  /// Parameters that it requires with training.compression and refuses without, each with a value to try.
  ParameterTexts with_compression = {};
  /// The reason why its messages cannot be compressed, and the remedy; empty: they can, if there are any.
  std::string not_compressible = usual::not_compressible(family, with_compression);
  /// The number of the plan's workers that a server invites to a round. The others act only when a message reaches them. The seed decides
  /// which ones are invited to the first round (Node::first_clients). None: every worker acts from the beginning.
  PlanFact<std::optional<std::int64_t>> invited = std::nullopt;
  /// How its server draws the invited clients.
  Fact<ClientSelection> selection = ClientSelection();
  /// Its workers are clients that act when invited, so they may come and go (cluster.workers[i].availability).
  bool invites = family == Family::federated;
  /// Its clients keep vectors (Node::kept) whose mean the server holds: it learns the vector of one that leaves (WeightsState::kept).
  bool clients_keep_vectors = false;
  /// Every update counts all workers alike, whatever the order and the number of their contributions.
  bool workers_alike = false;
  /// A worker's number of local steps follows its speed (TrainingPlan::step_seconds).
  Fact<bool> steps_by_speed = false;
  /// Aggregators in addition to the server, each for a group of consecutive workers (Node::group): at least 1, at most one per worker. They
  /// are placed by the racks of the topology if there are as many (the plan has that number). None: the scheme has no such role.
  std::function<Rank(const Parameters&, const TrainingPlan&)> aggregators = {};
  bool one_process = false;  // worker 0's process drives all workers: it loads for them (Node::load), and none may join or leave
  bool real = !one_process && cell_chunks.constant() && !*cell_chunks.constant();  // can run on MPI ranks
  WorkersHold workers_hold = usual::workers_hold(family, asynchronous, contributions);
  std::size_t worker_vectors = 0;  // further vectors of the length of the weights that a worker holds
  /// Measured: this program's memory per worker without math: node, frame, links, accounts, messages.
  std::size_t worker_bytes = usual::worker_bytes(versions);
  /// The same of each worker for each other one, where all tell all at once.
  std::size_t pair_bytes = 0;
  /// Its server divides by the weight of local steps: only optimizers that know it will do (UpdateRule::weight_of_steps).
  bool weighs_steps = false;
  /// A second optimizer, which steps along the workers' common result: its kind and parameters, as in `training.optimizer`.
  Fact<std::optional<OptimizerChoice>> outer_optimizer = std::nullopt;

  /// Its means over workers are weighed by stated batches (Batches::are_stated); else each worker counts the same, or by a rule of its own.
  bool weighs_batches = false;
  /// Its gradients may be computed in micro-batches (training.batch.accumulate).
  bool accumulates = true;
  /// Its workers may share states (training.sharding): each update steps on one mean of all workers' gradients.
  Fact<bool> shards = false;

  /// Its processes start again from a version's weights, what nodes hold, and their Durable variables.
  Fact<RollsBack> rolls_back = usual::rolls_back(family, exchange, contributions, one_process);

  /// What comparisons call it, which measure others against its runs: "synchronous SGD". Empty: they do not.
  std::string baseline = {};

  bool needs_server(const Parameters& given) const { return exchange(given) == Exchange::server; }
  /// training.compression applies.
  bool compressible(const Parameters& given) const { return exchange(given) != Exchange::none && not_compressible.empty(); }
  /// Workers call collectives.
  bool all_reduces(const Parameters& given) const { return exchange(given) == Exchange::all_reduce || reduces(given); }
};

/// A scheme with parameters, ready to run.
struct SchemeVariant {
  const SchemeEntry* entry;
  ParameterTexts given;  // the others have their defaults
  Parameters parameters;

  Exchange exchange() const { return entry->exchange(parameters); }
  bool asynchronous() const { return entry->asynchronous(parameters); }
  Versions versions() const { return entry->versions(parameters); }
  /// All workers must be on one host, since they share its memory.
  bool one_host() const { return entry->cell_chunks(parameters).has_value(); }
  /// As a scenario writes it: "{kind: local_sgd, steps: 3, via: server}".
  std::string text() const;
};

/// `given`, plus missing required parameters from the entry's first example. Throws std::invalid_argument as complete() does.
SchemeVariant variant_of(const SchemeEntry& entry, ParameterTexts given);
/// The variants that tests of all schemes run: the defaults, each choice of each parameter, and the entry's examples. Choices of on_failure
/// are left out: they matter under faults only.
std::vector<SchemeVariant> variants_of(const SchemeEntry& entry);
/// The variants of every registered scheme.
std::vector<SchemeVariant> all_scheme_variants();
/// The choices of on_failure.
const std::vector<std::string>& failure_choices(const SchemeEntry& entry);

}  // namespace straggler
