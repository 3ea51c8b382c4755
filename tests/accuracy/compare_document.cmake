# --json, so that tables of all publications are turned into objects, which checks that no two columns have one name.
execute_process(COMMAND ${CORTADO} reproduce all --json --markdown ${WRITTEN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WRITTEN} ${DOCUMENT} RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "docs/accuracy.md is out of date: run 'cortado reproduce all --markdown docs/accuracy.md'")
endif()
