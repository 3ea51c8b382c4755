# cortado_fingerprint(OUTPUT <header.hpp> NAME <constant> FILES ...)
#
# Makes a header with a hash of the given files: `inline constexpr std::string_view <constant>` in namespace cortado. The
# header is made again when a file or this script changes. The target generated_headers makes all of them.
if(NOT CMAKE_SCRIPT_MODE_FILE AND NOT TARGET generated_headers)
  add_custom_target(generated_headers)
endif()

function(cortado_fingerprint)
  cmake_parse_arguments(arg "" "OUTPUT;NAME" "FILES" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/Fingerprint.cmake)
  string(REPLACE ";" "|" files "${arg_FILES}")
  add_custom_command(
    OUTPUT ${arg_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${arg_OUTPUT} -D NAME=${arg_NAME} -D "FILES=${files}" -P ${script}
    DEPENDS ${arg_FILES} ${script}
    COMMENT "Fingerprint of sources into ${arg_OUTPUT}"
    VERBATIM)
  get_filename_component(name ${arg_OUTPUT} NAME_WE)
  add_custom_target(${name} DEPENDS ${arg_OUTPUT})
  add_dependencies(generated_headers ${name})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "|" ";" FILES "${FILES}")
  set(hashes "")
  foreach(file IN LISTS FILES)
    file(SHA256 ${file} hash)
    string(APPEND hashes "${hash}\n")
  endforeach()
  string(SHA256 fingerprint "${hashes}")
  file(WRITE ${OUTPUT} "#pragma once

#include <string_view>

namespace cortado {
inline constexpr std::string_view ${NAME} = \"${fingerprint}\";
}  // namespace cortado
")
endif()
