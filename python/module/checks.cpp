// Checks scenarios and lists the known names.
#include <pybind11/stl.h>

#include "models/data/dataset.hpp"
#include "python/module/models.hpp"
#include "python/module/runs.hpp"
#include "scenarios/advise/advise_said.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/reasons/check_text.hpp"
#include "scenarios/reasons/explain.hpp"
#include "scenarios/report/advise_page.hpp"
#include "scenarios/report/explain_page.hpp"
#include "scenarios/report/import_page.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/suggest.hpp"
#include "sim/training/late_schemes.hpp"

namespace straggler::python {

namespace {

/// {text, warnings}.
py::dict check(const py::dict& given, const py::dict& how, bool layers) {
  const RegistryInUse in_use;
  const Source source = source_of(given);
  Errands errands;
  const GivenInUse in_hand(how, errands, false);
  std::string text;
  std::vector<std::string> warnings;
  {
    const Released released;
    const Scenario scenario = read(source);
    RunOptions options;
    options.timing_only = source.timing_only || scenario.workload.data.name == no_data;
    const Experiment experiment(scenario, options);
    const Explanation explanation = experiment.explain();
    warnings = check_warnings(explanation, options.timing_only);
    text = check_text(scenario, explanation, experiment.collective_times(), update_times(scenario), update_parts(scenario),
                      packet_events(scenario), warnings, layers);
  }
  py::dict out;
  out["text"] = text;
  out["warnings"] = warnings;
  return out;
}

/// {files, text, warnings}: tables and the page, and sentences.
py::dict explain_run(const py::dict& given, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  const Source source = source_of(given);
  Errands errands;
  const GivenInUse in_hand(how, errands, true);
  ExplainOptions options;
  options.run.timing_only = source.timing_only;
  options.run.threads = how["threads"].cast<unsigned>();
  options.run.choose_threads = how["choose_threads"].cast<bool>();
  options.slowdowns = true;
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> run = 0, runs = 0;
  options.interrupted = [&stop] { return stop.load(); };
  options.tell = [&](std::size_t number, std::size_t count, const std::string&) {
    run = number;
    runs = count;
  };
  Watch watch(tell);
  Explained explained;
  run_beside(
      watch, stop, errands, [&] { return py::make_tuple(run.load(), runs.load()); },
      [&] {
        try {
          explained = explain(read(source), options);
        } catch (const ExplainInterrupted&) {  // the watch has the reason
        }
      });
  py::dict files, out;
  files["explain.csv"] = explain_csv(explained);
  files["elasticities.csv"] = elasticities_csv(explained);
  files["slowdowns.csv"] = slowdowns_csv(*explained.slowdowns);
  files["step_slowdowns.csv"] = step_slowdowns_csv(*explained.slowdowns);
  files["explain.json"] = explain_json(explained, how["out"].is_none() ? std::string() : how["out"].cast<std::string>());
  files["report.html"] = explain_page(explained);
  out["files"] = files;
  out["text"] = explain_text(explained);
  out["warnings"] = explained.warnings;
  return out;
}

/// {files, text, warnings}, as explain_run; `only`, `by`, `all` as the command has them.
py::dict advise_run(const py::dict& given, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  Source source = source_of(given);
  Errands errands;
  const GivenInUse in_hand(how, errands, true);
  AdviseOptions options;
  options.run.timing_only = source.timing_only;
  options.run.threads = how["threads"].cast<unsigned>();
  options.run.choose_threads = how["choose_threads"].cast<bool>();
  options.only = how["only"].cast<std::vector<std::string>>();
  const bool all = how["all"].cast<bool>();
  const auto by = how["by"].cast<std::string>();
  const std::optional<AdviceBy> ranked = advice_by_choice.find(by);
  if (!ranked) throw std::invalid_argument(unknown_name("by", by, advice_by_choice.names()));
  options.by = *ranked;
  options.file = source.name;
  std::optional<std::filesystem::path> figures;  // of files that describe no job
  if (!source.path.empty()) {
    const GivenJob job = given_job(source.path);
    options.imported = job.imported;
    options.file = source.path = job.scenario.string();
    if (std::error_code error; job.imported && !std::filesystem::exists(job.scenario, error)) figures = job.imported;
  }
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> run = 0, runs = 0;
  options.interrupted = [&stop] { return stop.load(); };
  options.tell = [&](std::size_t number, std::size_t count, const std::string&) {
    run = number;
    runs = count;
  };
  Watch watch(tell);
  Advice advice;
  run_beside(
      watch, stop, errands, [&] { return py::make_tuple(run.load(), runs.load()); },
      [&] {
        try {
          if (figures) {
            advice = advise_on_figures(*figures);
            return;
          }
          advice = advise(
              [&source](const std::vector<std::string>& sets) {
                Source more = source;
                more.sets.insert(more.sets.end(), sets.begin(), sets.end());
                return read(more);
              },
              options);
        } catch (const ExplainInterrupted&) {  // the watch has the reason
        }
      });
  py::dict files, out;
  files["advise.csv"] = advise_csv(advice, all);
  files["advise.json"] = advise_json(advice, how["out"].is_none() ? std::string() : how["out"].cast<std::string>());
  files["report.html"] = advise_page(advice);
  out["files"] = files;
  out["text"] = advise_text(advice, all);
  out["warnings"] = advice.warnings;
  return out;
}

/// {files, text}. `format` empty: recognized by content.
py::dict import_of(const std::vector<std::string>& files, const std::string& format, const std::vector<std::string>& held_out,
                   const std::map<std::string, std::string>& options) {
  ImportRequest request;
  request.held_out.assign(held_out.begin(), held_out.end());
  request.files.assign(files.begin(), files.end());
  request.format = format;
  std::vector<std::string> known;
  for (const ImportOption& option : import_options()) {
    known.push_back(option.parameter.name);
    if (const auto given = options.find(known.back()); given != options.end()) {
      try {
        request.options.set(known.back(), parse_value(option.parameter, given->second));
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(known.back() + ": " + error.what());
      }
    }
  }
  for (const auto& [name, text] : options)
    if (!request.options.has(name)) throw std::invalid_argument(unknown_name("option", name, known));
  py::dict all, out;
  Imported imported;
  {
    const Released released;
    imported = import_files(request);
  }
  for (const auto& [name, text] : imported.files) all[py::str(name)] = text;
  out["files"] = all;
  out["text"] = import_text(imported);
  return out;
}

/// Empty where the folder holds no job that runs.
std::string import_page_of(const std::string& path) {
  const RegistryInUse in_use;
  const Released released;
  const ImportedFolder folder(path);
  return folder.is_job() ? import_page(folder) : std::string();
}

py::dict dict_of(const Parameter& parameter) {
  py::dict all;
  all["name"] = parameter.name;
  all["type"] = std::string(name_of(parameter.type));
  all["default"] = parameter.fallback;
  all["required"] = parameter.required;
  all["range"] = parameter.range.text();
  all["choices"] = parameter.choices;
  all["meaning"] = parameter.meaning;
  return all;
}

void add_facts(py::dict& to, const SchemeEntry& scheme) {
  const std::vector<SchemeVariant> variants = variants_of(scheme);
  to["reference"] = scheme.reference;
  to["family"] = std::string(family_choice.name_of(scheme.family));
  to["rule"] = scheme.rule;
  to["waits"] = scheme.waits;
  to["needs_server"] = scheme.needs_server(variants.front().parameters);
  to["exchange"] = std::string(name_of(variants.front().exchange()));
  to["asynchronous"] = variants.front().asynchronous();
  to["versions"] = std::string(name_of(variants.front().versions()));
  to["rolls_back"] = std::string(rolls_back_choice.name_of(scheme.rolls_back(variants.front().parameters)));
  to["real"] = scheme.real;
  to["python"] = !late_code(scheme.name).empty();
}

/// {group: [{name, summary, parameters, …}]}, groups by the words for them in messages.
py::dict list_all() {
  py::dict groups;
  for (const auto& [group, words] : Vocabulary::from_registries().words) {
    py::list entries;
    for (const Word& word : words) {
      py::dict entry;
      entry["name"] = word.name;
      entry["summary"] = word.summary;
      if (group == KindGroup::scheme) add_facts(entry, Registry<SchemeEntry>::instance().at(word.name));
      py::list parameters;
      for (const Parameter& parameter : word.parameters) parameters.append(dict_of(parameter));
      entry["parameters"] = parameters;
      entries.append(entry);
    }
    const std::string name = group == KindGroup::cost_model ? "cost model" : std::string(name_of(group));
    groups[py::str(name)] = entries;
  }
  py::list imports;
  for (const ImportFormat& format : import_formats()) {
    py::dict entry;
    entry["name"] = format.name;
    entry["summary"] = format.summary;
    entry["yields"] = format.yields;
    entry["example"] = format.example;
    py::list parameters;
    for (const Parameter& parameter : format.parameters) parameters.append(dict_of(parameter));
    entry["parameters"] = parameters;
    imports.append(entry);
  }
  groups["import"] = imports;
  return groups;
}

}  // namespace

void define_checks(py::module_& module) {
  module.def("check", &check, py::arg("source"), py::arg("how"), py::arg("layers"));
  module.def("explain", &explain_run, py::arg("source"), py::arg("how"), py::arg("tell"));
  module.def("advise", &advise_run, py::arg("source"), py::arg("how"), py::arg("tell"));
  module.def("import_files", &import_of, py::arg("files"), py::arg("format"), py::arg("held_out"), py::arg("options"));
  module.def("import_page", &import_page_of, py::arg("folder"));
  module.def("list_all", &list_all);
}

}  // namespace straggler::python
