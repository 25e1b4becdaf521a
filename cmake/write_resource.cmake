# Writes SOURCE: C++ with the bytes of FILE as straggler::resources::NAME(). The assembler includes them (.incbin), which takes no time at
# any size; the hash tells a compiler cache when they change.
if(NOT FILE)
  file(WRITE ${SOURCE} "#include <string_view>\nnamespace straggler::resources {\nstd::string_view ${NAME}();\nstd::string_view ${NAME}() { return {}; }\n}\n")
  return()
endif()
if(ARRAY)  # the assembler for WebAssembly includes no files
  file(READ ${FILE} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  file(WRITE ${SOURCE} "#include <string_view>
namespace straggler::resources {
static constexpr char bytes_of_${NAME}[] = {${bytes}'\\0'};
std::string_view ${NAME}();
std::string_view ${NAME}() { return {bytes_of_${NAME}, sizeof bytes_of_${NAME} - 1}; }
}  // namespace straggler::resources
")
  return()
endif()
file(SHA256 ${FILE} hash)
file(WRITE ${SOURCE} "// ${hash}
#include <cstddef>
#include <string_view>
__asm__(
    \".pushsection .rodata\\n\"
    \".global straggler_resource_${NAME}\\n.hidden straggler_resource_${NAME}\\n\"
    \".global straggler_resource_${NAME}_end\\n.hidden straggler_resource_${NAME}_end\\n\"
    \"straggler_resource_${NAME}:\\n.incbin \\\"${FILE}\\\"\\n\"
    \"straggler_resource_${NAME}_end:\\n.byte 0\\n\"
    \".popsection\\n\");
extern \"C\" const char straggler_resource_${NAME}[], straggler_resource_${NAME}_end[];
namespace straggler::resources {
std::string_view ${NAME}();
std::string_view ${NAME}() {
  return {straggler_resource_${NAME}, static_cast<std::size_t>(straggler_resource_${NAME}_end - straggler_resource_${NAME})};
}
}  // namespace straggler::resources
")
