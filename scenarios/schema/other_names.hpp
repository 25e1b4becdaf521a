// Keys and kinds of a scenario by the names that they have in other programs and in papers, keys beside the section where they belong, and
// names of other algorithms, models and devices, which are not misspelt ones of ours; and what people look for that is not modelled.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/schema/vocabulary.hpp"

namespace straggler {

/// Which of the known keys is meant by `key`: the one that is called so elsewhere ("lr" for learning_rate, "H" for steps), else the nearest
/// one; empty: none. A value that is glued to the key, as in {updates:10}, is left out.
std::string meant_key(std::string_view key, const std::vector<std::string>& known);

/// What docs/limits.md says of a key, or of a kind, that Straggler does not have: "gradient accumulation is not modelled; the nearest is a
/// batch of all its samples (training.batch), computed in one piece (docs/limits.md)". `section`: the path where the key stands. Empty:
/// nothing.
std::string not_modelled(std::string_view key, std::string_view section);
std::string not_modelled(KindGroup group, std::string_view name);

/// What `straggler list` calls a group of kinds: "schemes", "topologies".
std::string_view listed_as(KindGroup group);
/// Of a group's names, those to tell: "known: asgd, ssgd", or the three nearest to `name` and the command that prints all. `name` may be
/// empty.
std::string known_kinds(KindGroup group, std::string_view name, const std::vector<std::string>& known);

/// The command that lists the keys of that section, if it lists all of `known`; else empty. `section`: with indices and with names of the
/// user's choice; `kind`: the one that stands in it. Defined where all keys are known.
std::string command_that_lists(std::string_view section, std::string_view kind, const std::vector<std::string>& known);

/// "unknown key 'lr'; did you mean 'learning_rate'? known: kind, learning_rate". Of many keys, the three nearest. `section`: the path where
/// it stands; a key that belongs to another section is reported with it: "unknown key 'lr'; did you mean training.optimizer.learning_rate?
/// known: …". A value that is glued to the key: "unknown key 'updates:10'; did you mean 'updates: 10', with a blank after the colon? known:
/// …". One that is not modelled: "unknown key 'accumulation': gradient accumulation is not modelled; …". `kind`: the one that stands in the
/// section; empty: none.
std::string unknown_key(std::string_view key, const std::vector<std::string>& known, std::string_view section, std::string_view kind = {});

/// "updates: 10" of "updates:10"; empty if there is no colon in `text` with something on both of its sides.
std::string with_blank_after_colon(std::string_view text);

/// Which of the known kinds of that group is meant by `name`, which is none of them; empty: none.
std::string meant_kind(KindGroup group, std::string_view name, const std::vector<std::string>& known);

/// "unknown WHAT 'bsp'; did you mean 'ssgd'? known: asgd, ssgd": a kind of that group by its other name, else the nearest one, but none
/// where `name` is known to be something else (the scheme "dasgd") or differs from the nearest in its numbers alone (vgg19 is no misspelt
/// vgg16). One that is something else here: "unknown scheme 'fsdp': sharded states (ZeRO, FSDP) are ssgd with …".
std::string unknown_kind(KindGroup group, std::string_view what, std::string_view name, const std::vector<std::string>& known);

}  // namespace straggler
