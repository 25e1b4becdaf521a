// What a file seems to be that no reader knows, for one line to its user.
#pragma once
#include <string>

#include "models/formats/given_file.hpp"

namespace straggler {

/// The end of a sentence about it, with a remedy where there is one: "is a Chrome trace of a browser", "is a scenario of straggler;
/// straggler check explains it".
std::string what_it_seems(const FileStart& start);

}  // namespace straggler
