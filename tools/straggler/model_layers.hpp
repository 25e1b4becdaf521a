// What `straggler list models` says of one model: one that is built in, or one that a file describes.
#pragma once
namespace straggler::cli {

class Arguments;

/// Prints the model of `list models FILE`, or of `list models NAME` with --layers, --yaml or --set. False: the arguments ask for something
/// else. FILE is any that `cost.model: {kind: file}` reads, a list of layers in YAML (alone, or beside other keys of `cost.model`), or a
/// CSV file of sizes. Throws UsageError where the options do not fit, ScenarioErrors and DataError where the file or a setting is wrong.
bool list_one_model(const Arguments& arguments);

}  // namespace straggler::cli
