# postrider_module(NAME [DIR dir] [FLAT] [UNITY folder|module] [LINKS …] [TEST_LINKS …])
#
# Declares the static library postrider_NAME from postrider/DIR/**/*.cc (DIR is NAME unless given; FLAT
# takes DIR/*.cc only). LINKS and TEST_LINKS name modules declared earlier, or imported targets. A module
# without sources becomes an INTERFACE library, so a tree under construction always configures.
#
#   *_test.cc           the executable NAME_test (TEST_LINKS are for tests only)
#   *_planted_test.cc   the executable NAME_planted_test, in which bugs can be planted
#   *_testing.cc, conformance*.cc
#                       helpers (NAME_helpers), for the tests of this module and of those that link it
#
# The sources that include base/planted.h are compiled a second time, into postrider_bugs: with
# POSTRIDER_PLANTED_BUGS=1 they can be told to be wrong. An executable that links postrider_bugs has those
# copies instead of the usual ones, because a linker takes from a static library only what is still missing.
# That holds as long as no header includes base/planted.h; tools/check_layers looks after it.

if(POSTRIDER_SANITIZE)
  set(POSTRIDER_TEST_TIMEOUT 1500)
else()
  set(POSTRIDER_TEST_TIMEOUT 300)
endif()

# Turns names of modules into targets; other names stay as they are.
function(postrider_targets out)
  get_property(modules GLOBAL PROPERTY POSTRIDER_MODULES)
  set(targets)
  foreach(name IN LISTS ARGN)
    if(name IN_LIST modules)
      list(APPEND targets postrider_${name})
    elseif(TARGET ${name})
      list(APPEND targets ${name})
    else()
      message(FATAL_ERROR "'${name}' is neither a module declared before its use nor a target.")
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# The headers that most files include, compiled once for all code and once for all tests: a quarter of the time
# that a build takes. A file still includes what it uses; the preset dev builds without this, and shows a lapse.
set(POSTRIDER_STANDARD_HEADERS <algorithm> <array> <charconv> <chrono> <cstdint> <cstdio> <cstring> <deque> <functional>
  <map> <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
function(postrider_precompile target owner)
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${POSTRIDER_STANDARD_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# With POSTRIDER_UNITY=N, up to N files of one folder, or of the whole module, are compiled in one step: what the
# files share, headers and templates, is then read, instantiated and optimised once, which is half of a build. The
# names in the anonymous namespaces of such a folder or module must differ therefore; a file that cannot share a
# step has a line "// unity: alone". Sources that know of planted bugs (below) have steps of their own, so that a
# step is planted as a whole or not at all.
function(postrider_unity target scope)
  if(POSTRIDER_UNITY LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes a source that is included for a header, in which a field with a type of its own would be an error.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  set(plain)
  set(planted)
  foreach(source IN LISTS ARGN)
    postrider_marked(alone ${source} "^// unity: alone")
    postrider_marked(plants ${source} "base/planted\\.h")
    if(alone)
      continue()
    elseif(plants)
      list(APPEND planted ${source})
    else()
      list(APPEND plain ${source})
    endif()
  endforeach()
  foreach(kind plain planted)
    if(scope STREQUAL "module")
      set(folders ${${kind}})
      list(TRANSFORM folders REPLACE "^(${CMAKE_SOURCE_DIR}/postrider/[^/]*)/.*" "\\1")
      list(REMOVE_DUPLICATES folders)
      set(within "/")
    else()
      set(folders ${${kind}})
      list(TRANSFORM folders REPLACE "/[^/]*$" "")
      list(REMOVE_DUPLICATES folders)
      set(within "/[^/]*$")
    endif()
    foreach(folder IN LISTS folders)
      set(sources ${${kind}})
      list(FILTER sources INCLUDE REGEX "^${folder}${within}")
      list(LENGTH sources count)
      if(count EQUAL 0)
        continue()
      endif()
      list(SORT sources)
      math(EXPR steps "(${count} + ${POSTRIDER_UNITY} - 1) / ${POSTRIDER_UNITY}")
      file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${folder})
      string(REPLACE "/" "_" place "${place}")
      set(index 0)
      foreach(source IN LISTS sources)
        math(EXPR step "${index} * ${steps} / ${count}")
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
          PROPERTIES UNITY_GROUP ${place}_${kind}_${step})
        math(EXPR index "${index} + 1")
      endforeach()
    endforeach()
  endforeach()
endfunction()

# Whether a line of the file matches; looked at when CMake runs, not at each build.
function(postrider_marked out source regex)
  file(STRINGS ${source} found REGEX ${regex} LIMIT_COUNT 1)
  if(found)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# A library that may be without sources.
function(postrider_library target sources)
  if(sources)
    add_library(${target} STATIC ${sources})
    postrider_precompile(${target} postrider_base)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${target} ${scope} ${ARGN})
endfunction()

# What tests and their helpers are compiled with.
function(postrider_test_options target)
  target_link_libraries(${target} PUBLIC GTest::gtest_main rapidcheck_gtest)
  # A test dereferences what it has just asserted; the compiler cannot see that.
  target_compile_options(${target} PRIVATE -Wno-null-dereference)
  if(NOT sanitizers)
    # What is tested has -O2. At -O1 g++ 12 misreads how coroutines are freed.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> -Wno-mismatched-new-delete)
  endif()
  target_compile_definitions(${target} PRIVATE POSTRIDER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  postrider_precompile(${target} postrider_test_headers <gtest/gtest.h> <rapidcheck/gtest.h>)
endfunction()

# One GoogleTest executable; every test in it is a test of ctest, so that long ones run side by side.
function(postrider_test target sources)
  add_executable(${target} ${sources})
  target_link_libraries(${target} PUBLIC ${ARGN})
  postrider_test_options(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${target}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    TEST_PREFIX "${target}/"
    PROPERTIES TIMEOUT ${POSTRIDER_TEST_TIMEOUT} LABELS fast)
endfunction()

# The test helpers of the given modules and of all they link.
function(postrider_helpers out)
  get_property(declared GLOBAL PROPERTY POSTRIDER_MODULES)
  set(reached)
  foreach(name IN LISTS ARGN)
    get_property(closure GLOBAL PROPERTY POSTRIDER_CLOSURE_${name})
    list(APPEND reached ${closure})
  endforeach()
  set(helpers)
  foreach(module IN LISTS declared)
    if(module IN_LIST reached)
      get_property(target GLOBAL PROPERTY POSTRIDER_HELPERS_${module})
      list(APPEND helpers ${target})
    endif()
  endforeach()
  set(${out} ${helpers} PARENT_SCOPE)
endfunction()

# Adds the sources that know of planted bugs to postrider_bugs.
function(postrider_plant unity links)
  foreach(source IN LISTS ARGN)
    postrider_marked(plants ${source} "base/planted\\.h")
    if(plants)
      target_sources(postrider_bugs PRIVATE ${source})
      target_link_libraries(postrider_bugs PUBLIC ${links})
      list(APPEND planted ${source})
    endif()
  endforeach()
  if(unity AND planted)
    postrider_unity(postrider_bugs ${unity} ${planted})
  endif()
endfunction()

function(postrider_module name)
  cmake_parse_arguments(arg "FLAT" "DIR;UNITY" "LINKS;TEST_LINKS" ${ARGN})
  if(NOT arg_DIR)
    set(arg_DIR ${name})
  endif()
  set(dir ${CMAKE_SOURCE_DIR}/postrider/${arg_DIR})
  if(arg_FLAT)
    file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  endif()

  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(planted_tests ${tests})
  list(FILTER planted_tests INCLUDE REGEX "_planted_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_planted_test\\.cc$")
  set(helpers ${sources})
  list(FILTER helpers INCLUDE REGEX "(_testing|/conformance[^/]*)\\.cc$")
  list(FILTER helpers EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_testing|/conformance[^/]*)\\.cc$")

  set(closure ${name})
  foreach(link IN LISTS arg_LINKS)
    get_property(reached GLOBAL PROPERTY POSTRIDER_CLOSURE_${link})
    list(APPEND closure ${reached})
  endforeach()
  set_property(GLOBAL PROPERTY POSTRIDER_CLOSURE_${name} ${closure})
  set_property(GLOBAL APPEND PROPERTY POSTRIDER_MODULES ${name})
  if(arg_FLAT)
    set_property(GLOBAL APPEND PROPERTY POSTRIDER_PATTERNS "${arg_DIR}/[^/]+$")
  else()
    set_property(GLOBAL APPEND PROPERTY POSTRIDER_PATTERNS "${arg_DIR}/")
  endif()

  postrider_targets(links ${arg_LINKS})
  postrider_library(postrider_${name} "${sources}" ${links})
  if(arg_UNITY)
    postrider_unity(postrider_${name} ${arg_UNITY} ${sources})
  endif()

  if(NOT POSTRIDER_TESTS)
    return()
  endif()
  postrider_plant("${arg_UNITY}" "${links}" ${sources})
  postrider_targets(links ${name} ${arg_TEST_LINKS})
  if(helpers)
    add_library(${name}_helpers OBJECT EXCLUDE_FROM_ALL ${helpers})
    target_link_libraries(${name}_helpers PUBLIC ${links})
    postrider_test_options(${name}_helpers)
    set_property(GLOBAL PROPERTY POSTRIDER_HELPERS_${name} ${name}_helpers)
  endif()
  postrider_helpers(helpers ${name} ${arg_TEST_LINKS})
  if(tests)
    postrider_test(${name}_test "${tests}" ${helpers} ${links})
    if(arg_UNITY)
      postrider_unity(${name}_test ${arg_UNITY} ${tests})
    endif()
  endif()
  if(planted_tests)
    postrider_test(${name}_planted_test "${planted_tests}" postrider_bugs ${helpers} ${links})
  endif()
endfunction()

# Every C++ file belongs to a module; a forgotten one would never be compiled.
function(postrider_check_folders)
  get_property(patterns GLOBAL PROPERTY POSTRIDER_PATTERNS)
  list(JOIN patterns "|" owned)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/postrider
       ${CMAKE_SOURCE_DIR}/postrider/*.cc)
  list(FILTER files EXCLUDE REGEX "^(${owned})")
  if(files)
    message(FATAL_ERROR "No module owns ${files}: declare it in postrider/CMakeLists.txt.")
  endif()
endfunction()

if(POSTRIDER_TESTS)
  include(GoogleTest)
  # Owns the headers that are precompiled for tests: a target waits for the whole owner, not only for its headers.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cc CONTENT "// Nothing but the headers that all tests share.\n")
  add_library(postrider_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
  postrider_test_options(postrider_test_headers)
  add_library(postrider_bugs OBJECT)
  target_compile_definitions(postrider_bugs PUBLIC POSTRIDER_PLANTED_BUGS=1)
endif()
