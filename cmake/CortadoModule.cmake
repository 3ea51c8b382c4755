# cortado_module(NAME <name> [NOT_INSTALLED] [GENERATED ...] [LINKS ...] [PRIVATE_LINKS ...] [TEST_LINKS ...] [OTHER_TESTS ...])
#
# One module = one static library `cortado_<name>` (alias cortado::<name>) of all sources in the folder and below and of
# those that the build generates; and, with CORTADO_TESTS, one test program `<name>_test` of the x_test.cpp files that
# stand beside them. What they share, in folders called testing, becomes a library `cortado_<name>_testing`: interpreters
# and the like that deserve to be optimised. OTHER_TESTS belong to a program of their own. A module without sources becomes
# an interface library. NOT_INSTALLED is for what only programs of this tree link.
add_library(cortado_options INTERFACE)
target_compile_features(cortado_options INTERFACE cxx_std_20)
target_compile_options(cortado_options INTERFACE -Wall -Wextra -Wpedantic)
# In WebAssembly std::size_t has 32 bits, and indices of 64 bits are narrowed wherever a vector is looked into: a vector
# there cannot be longer. The other builds are the judges of conversions.
if(CORTADO_DEVICES)
  target_compile_options(cortado_options INTERFACE -Wconversion -Wsign-conversion -Wshadow)
endif()
# Libraries are position-independent, for the bindings. By default g++ then calls each of their functions as if another
# library could replace it, and does not inline it.
target_compile_options(cortado_options INTERFACE -fno-semantic-interposition)
# g++ collects garbage whenever its heap has doubled, which takes a tenth of the time of a batch. Below 4 GB it does not now;
# the largest batch takes 1.8 GB, before 1.4.
target_compile_options(cortado_options INTERFACE "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=4194304>")
# GCC's flow warnings report false positives in code that the sanitizers instrument; the plain build is the judge.
if(CORTADO_WERROR AND CORTADO_DEVICES AND NOT CORTADO_SANITIZE)
  target_compile_options(cortado_options INTERFACE -Werror)
endif()
if(CORTADO_SANITIZE)
  target_compile_options(cortado_options INTERFACE -fsanitize=${CORTADO_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  # At its default clang spends two thirds of the build on functions that grew large by inlining and instrumentation.
  target_compile_options(cortado_options INTERFACE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-mllvm -inline-threshold=30>")
  # Use after return is not checked, because that takes code in every function. Use after scope is.
  if(CORTADO_SANITIZE MATCHES "address")
    target_compile_options(cortado_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fsanitize-address-use-after-return=never>)
  endif()
  target_link_options(cortado_options INTERFACE -fsanitize=${CORTADO_SANITIZE})
  target_compile_definitions(cortado_options INTERFACE CORTADO_SANITIZED)
endif()

# Sources are compiled in batches: what a file includes and instantiates takes most of its time, and a batch does that
# once. One batch of 50 files takes 15 to 20 % less than two of 25. Larger ones would keep one of two processors waiting
# at the end. Names in the unnamed namespaces of one target therefore have to differ. `tools/check includes` compiles
# every file alone.
set(CORTADO_BATCH 64 CACHE STRING "Most source files compiled together; 1 compiles each alone, 0 a whole target at once")

# Replaces the sources of a target by batches of them. CMake's own unity files name sources by absolute paths, so that a
# compiler cache knows none of them in another clone; these name them from the root of the tree. Sources that the build
# generates and those with SKIP_UNITY_BUILD_INCLUSION are compiled alone.
function(cortado_in_batches target)
  if(CORTADO_BATCH EQUAL 1)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone "")
  set(together "")
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    get_source_file_property(skipped ${source} SKIP_UNITY_BUILD_INCLUSION)
    file(RELATIVE_PATH from_build ${PROJECT_BINARY_DIR} ${path})
    if(skipped OR NOT from_build MATCHES "^\\.\\./")
      list(APPEND alone ${source})
      continue()
    endif()
    file(RELATIVE_PATH from_root ${PROJECT_SOURCE_DIR} ${path})
    list(APPEND together ${from_root})
  endforeach()
  # As few batches as there can be, all of about one size.
  list(LENGTH together files)
  set(size ${files})
  if(CORTADO_BATCH GREATER 0 AND files GREATER 0)
    math(EXPR number "(${files} + ${CORTADO_BATCH} - 1) / ${CORTADO_BATCH}")
    math(EXPR size "(${files} + ${number} - 1) / ${number}")
  endif()
  set(batches "")
  set(text "")
  set(count 0)
  set(number 0)
  foreach(from_root IN LISTS together)
    string(APPEND text "#include \"${from_root}\"\n")
    math(EXPR count "${count} + 1")
    if(count EQUAL size)
      cortado_write_batch(${target} ${number} "${text}" batches)
      math(EXPR number "${number} + 1")
      set(count 0)
      set(text "")
    endif()
  endforeach()
  if(count GREATER 0)
    cortado_write_batch(${target} ${number} "${text}" batches)
  endif()
  set_target_properties(${target} PROPERTIES SOURCES "${batches};${alone}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

function(cortado_write_batch target number text list)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/batch_${number}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  set(${list} ${${list}} ${file} PARENT_SCOPE)
endfunction()

# There are about fifty programs to link, each of tens of megabytes.
find_program(CORTADO_LLD ld.lld)
if(CORTADO_LLD)
  add_link_options(-fuse-ld=lld)
endif()

find_program(CORTADO_CCACHE ccache)
if(CORTADO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CORTADO_CCACHE})
endif()

# cortado_sources(<sources> <tests>): the .cpp files of the folder and below, but for folders that have a
# CMakeLists.txt of their own; sorted, because batches follow their order.
function(cortado_sources sources tests)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  list(SORT all)
  file(GLOB_RECURSE apart CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(list_file IN LISTS apart)
    get_filename_component(folder ${list_file} DIRECTORY)
    list(FILTER all EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(of_tests ${all})
  list(FILTER all EXCLUDE REGEX "(_test\\.cpp$|(^|/)testing/)")
  list(FILTER of_tests INCLUDE REGEX "(_test\\.cpp$|(^|/)testing/)")
  set(${sources} ${all} PARENT_SCOPE)
  set(${tests} ${of_tests} PARENT_SCOPE)
endfunction()

# The modules in which tests spend their time. Under the sanitizers the others are not optimised, which halves the time
# that they take to compile.
set(CORTADO_BUSY_MODULES base executor gemm machine plan runtime serve sim sim_fast sim_fluid sim_power soft verify)

function(cortado_module)
  cmake_parse_arguments(arg "NOT_INSTALLED" "NAME" "GENERATED;LINKS;PRIVATE_LINKS;TEST_LINKS;OTHER_TESTS" ${ARGN})
  cortado_sources(sources tests)
  if(arg_OTHER_TESTS)
    list(REMOVE_ITEM tests ${arg_OTHER_TESTS})
  endif()
  set(target cortado_${arg_NAME})
  if(sources)
    set(public PUBLIC)
    add_library(${target} STATIC ${sources} ${arg_GENERATED})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ${CORTADO_DEVICES})
    cortado_in_batches(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LINKS} $<BUILD_INTERFACE:cortado_options>)
    if(CORTADO_SANITIZE AND NOT arg_NAME IN_LIST CORTADO_BUSY_MODULES)
      cortado_quick_to_build(${target})
    endif()
  else()
    set(public INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(cortado::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  target_compile_features(${target} ${public} cxx_std_20)
  target_include_directories(${target} ${public}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${public} ${arg_LINKS})
  if(NOT arg_NOT_INSTALLED)
    set_property(GLOBAL APPEND PROPERTY CORTADO_MODULES ${target})
  endif()
  if(CORTADO_TESTS AND tests)
    set(shared ${tests})
    list(FILTER shared INCLUDE REGEX "(^|/)testing/")
    if(shared)
      list(REMOVE_ITEM tests ${shared})
      add_library(${target}_testing STATIC ${shared})
      cortado_in_batches(${target}_testing)
      target_include_directories(${target}_testing PRIVATE ${PROJECT_SOURCE_DIR}/src)
      target_link_libraries(${target}_testing PUBLIC ${target} PRIVATE cortado_options)
      list(APPEND arg_TEST_LINKS ${target}_testing)
    endif()
    cortado_test(NAME ${arg_NAME}_test SOURCES ${tests} LINKS ${arg_TEST_LINKS} cortado::${arg_NAME})
  endif()
endfunction()

# cortado_quick_to_build(<target>): code that runs briefly and takes long to compile is optimised little or not at all. The
# libraries, where time is spent, are. A page that is loaded wants them small.
function(cortado_quick_to_build target)
  if(CMAKE_SYSTEM_NAME STREQUAL WASI)
    target_compile_options(${target} PRIVATE -Oz)
  else()
    target_compile_options(${target} PRIVATE $<IF:$<CONFIG:Release>,-O1,-O0>)
    set_property(GLOBAL APPEND PROPERTY CORTADO_QUICK_TO_BUILD ${target})
  endif()
endfunction()

# Of a template that several objects instantiate, a program keeps the code of the object that stands first on the linker's
# command line. CMake puts a program's own objects there, whose code is optimised little; the libraries would run it. This
# puts the optimised libraries first. To be called when all targets are known.
function(cortado_link_optimised_first)
  get_property(quick GLOBAL PROPERTY CORTADO_QUICK_TO_BUILD)
  foreach(target IN LISTS quick)
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "^(EXECUTABLE|MODULE_LIBRARY)$")
      continue()
    endif()
    cortado_static_libraries(${target} libraries)
    list(REMOVE_ITEM libraries ${quick})
    list(TRANSFORM libraries REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    if(libraries)
      list(JOIN libraries "," files)
      target_link_options(${target} BEFORE PRIVATE "LINKER:--whole-archive,${files},--no-whole-archive")
    endif()
  endforeach()
endfunction()

# The static libraries of this tree that a target links, directly or not.
function(cortado_static_libraries target libraries)
  set(found "")
  set(waiting ${target})
  while(waiting)
    list(POP_FRONT waiting next)
    get_target_property(links ${next} INTERFACE_LINK_LIBRARIES)
    if(next STREQUAL target)
      get_target_property(links ${next} LINK_LIBRARIES)
    endif()
    foreach(link IN LISTS links)
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.+)>$" "\\1" link "${link}")
      if(NOT TARGET ${link})
        continue()
      endif()
      get_target_property(named ${link} ALIASED_TARGET)
      if(named)
        set(link ${named})
      endif()
      get_target_property(imported ${link} IMPORTED)
      if(imported OR link IN_LIST found)
        continue()
      endif()
      list(APPEND found ${link})
      list(APPEND waiting ${link})
    endforeach()
  endwhile()
  set(static "")
  foreach(library IN LISTS found)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND static ${library})
    endif()
  endforeach()
  set(${libraries} ${static} PARENT_SCOPE)
endfunction()

# cortado_test(NAME <name> SOURCES ... [LINKS ...] [ONE_PROCESS]): a GoogleTest program under a label of its name. CTest
# lists its cases one by one, unless they are to run in one process because they share something that takes long to
# compute. Programs that sanitizers slow down at their start run many cases in a process, too. CTest starts what takes long
# (CORTADO_LONG_TESTS), and what wants all processors, before the rest: at the end no processor waits for the other.
# Every test file has a namespace of its own, so that files of a batch do not clash.
set(CORTADO_LONG_TESTS mutation_test pipeline_test plan_test product_test schedule_choice_test)
function(cortado_test)
  cmake_parse_arguments(arg "ONE_PROCESS" "NAME" "SOURCES;LINKS" ${ARGN})
  set(cost 0)
  if(arg_NAME IN_LIST CORTADO_LONG_TESTS)
    set(cost 100)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  cortado_in_batches(${arg_NAME})
  target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main cortado_options)
  cortado_quick_to_build(${arg_NAME})

  if(arg_ONE_PROCESS)
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
    set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_NAME} PROCESSORS 2 COST 1000)
  elseif(CORTADO_SANITIZE)
    foreach(part RANGE 3)
      add_test(NAME ${arg_NAME}.${part} COMMAND ${arg_NAME})
      set_tests_properties(${arg_NAME}.${part} PROPERTIES LABELS ${arg_NAME} COST ${cost}
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${part}")
    endforeach()
  else()
    gtest_discover_tests(${arg_NAME} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${arg_NAME} COST ${cost})
  endif()
endfunction()
