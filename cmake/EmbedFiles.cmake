# cortado_embed_files(OUTPUT <file.cpp> HEADER <header> FUNCTION <qualified name> FILES ...)
#
# Makes a source file whose function returns the given files as (name without extension, content), so that
# an installed library carries its data with it. The header declares the function:
#   std::span<const std::pair<std::string_view, std::string_view>> <function>();
# The source is made again when a file or this script changes.
function(cortado_embed_files)
  cmake_parse_arguments(arg "" "OUTPUT;HEADER;FUNCTION" "FILES" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake)
  string(REPLACE ";" "|" files "${arg_FILES}")
  add_custom_command(
    OUTPUT ${arg_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${arg_OUTPUT} -D HEADER=${arg_HEADER} -D FUNCTION=${arg_FUNCTION}
            -D "FILES=${files}" -P ${script}
    DEPENDS ${arg_FILES} ${script}
    COMMENT "Embedding data files into ${arg_OUTPUT}"
    VERBATIM)
  # CMake would have the command wait for all libraries of the target that compiles the file, were there not a second
  # target that needs none.
  get_filename_component(name ${arg_OUTPUT} NAME_WE)
  add_custom_target(${name} DEPENDS ${arg_OUTPUT})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "|" ";" FILES "${FILES}")
  list(LENGTH FILES count)
  set(entries "")
  foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME_WLE)
    file(READ ${file} content)
    string(APPEND entries "    {\"${name}\"sv, R\"embedded(${content})embedded\"sv},\n")
  endforeach()
  file(WRITE ${OUTPUT} "#include \"${HEADER}\"

#include <array>

std::span<const std::pair<std::string_view, std::string_view>> ${FUNCTION}() {
  using namespace std::string_view_literals;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, ${count}> kFiles{{
${entries}  }};
  return kFiles;
}
")
endif()
