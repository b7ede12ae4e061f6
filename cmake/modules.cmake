# postrider_module(NAME [DIR dir] [FLAT] [LINKS …] [TEST_LINKS …])
#
# Declares the static library postrider_NAME from postrider/DIR/**/*.cc (DIR is NAME unless given; FLAT
# takes DIR/*.cc only). LINKS and TEST_LINKS name modules declared earlier, or imported targets. A module
# without sources becomes an INTERFACE library, so a tree under construction always configures.
#
#   *_test.cc           the executable NAME_test (TEST_LINKS are for tests only)
#   *_planted_test.cc   the executable NAME_planted_test, linked to planted copies
#   *_testing.cc, conformance*.cc
#                       helpers, compiled into the tests of this module and of those that link it
#
# Modules in POSTRIDER_PLANTED_MODULES are compiled a second time as postrider_NAME_planted, with
# POSTRIDER_PLANTED_BUGS=1. Planted copies link only planted copies of those modules: one executable
# never holds both.

set(POSTRIDER_PLANTED_MODULES core shard webhook profiles sim)

if(POSTRIDER_SANITIZE)
  set(POSTRIDER_TEST_TIMEOUT 1500)
else()
  set(POSTRIDER_TEST_TIMEOUT 300)
endif()

# Turns names of modules into targets; other names stay as they are.
function(postrider_targets out suffix)
  get_property(modules GLOBAL PROPERTY POSTRIDER_MODULES)
  set(targets)
  foreach(name IN LISTS ARGN)
    if(NOT name IN_LIST modules)
      if(NOT TARGET ${name})
        message(FATAL_ERROR "'${name}' is neither a module declared before its use nor a target.")
      endif()
      list(APPEND targets ${name})
    elseif(suffix AND name IN_LIST POSTRIDER_PLANTED_MODULES)
      list(APPEND targets postrider_${name}${suffix})
    else()
      list(APPEND targets postrider_${name})
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# A library that may be without sources.
function(postrider_library target sources)
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${target} ${scope} ${ARGN})
endfunction()

# One GoogleTest executable; every test in it is a test of ctest, so that long ones run side by side.
function(postrider_test target sources)
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest_main rapidcheck_gtest)
  # A test dereferences what it has just asserted; the compiler cannot see that.
  target_compile_options(${target} PRIVATE -Wno-null-dereference)
  target_compile_definitions(${target} PRIVATE POSTRIDER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
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
      get_property(sources GLOBAL PROPERTY POSTRIDER_HELPERS_${module})
      list(APPEND helpers ${sources})
    endif()
  endforeach()
  set(${out} ${helpers} PARENT_SCOPE)
endfunction()

# A module must not reach the normal copy of a planted module through one that has no planted copy.
function(postrider_check_planted name links)
  set(closure ${name})
  foreach(link IN LISTS links)
    get_property(reached GLOBAL PROPERTY POSTRIDER_CLOSURE_${link})
    list(APPEND closure ${reached})
    if(name IN_LIST POSTRIDER_PLANTED_MODULES AND NOT link IN_LIST POSTRIDER_PLANTED_MODULES)
      foreach(module IN LISTS reached)
        if(module IN_LIST POSTRIDER_PLANTED_MODULES)
          message(FATAL_ERROR "'${name}' is planted and reaches '${module}' through '${link}', which is not: "
                              "add '${link}' to POSTRIDER_PLANTED_MODULES.")
        endif()
      endforeach()
    endif()
  endforeach()
  set_property(GLOBAL PROPERTY POSTRIDER_CLOSURE_${name} ${closure})
endfunction()

function(postrider_module name)
  cmake_parse_arguments(arg "FLAT" "DIR" "LINKS;TEST_LINKS" ${ARGN})
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

  postrider_check_planted(${name} "${arg_LINKS}")
  set_property(GLOBAL APPEND PROPERTY POSTRIDER_MODULES ${name})
  if(arg_FLAT)
    set_property(GLOBAL APPEND PROPERTY POSTRIDER_PATTERNS "${arg_DIR}/[^/]+$")
  else()
    set_property(GLOBAL APPEND PROPERTY POSTRIDER_PATTERNS "${arg_DIR}/")
  endif()

  postrider_targets(links "" ${arg_LINKS})
  postrider_library(postrider_${name} "${sources}" ${links})
  if(name IN_LIST POSTRIDER_PLANTED_MODULES AND POSTRIDER_TESTS)
    postrider_targets(links _planted ${arg_LINKS})
    postrider_library(postrider_${name}_planted "${sources}" ${links})
    if(sources)
      target_compile_definitions(postrider_${name}_planted PUBLIC POSTRIDER_PLANTED_BUGS=1)
      set_target_properties(postrider_${name}_planted PROPERTIES EXCLUDE_FROM_ALL ON)
    else()
      target_compile_definitions(postrider_${name}_planted INTERFACE POSTRIDER_PLANTED_BUGS=1)
    endif()
  elseif(planted_tests AND NOT name IN_LIST POSTRIDER_PLANTED_MODULES)
    message(FATAL_ERROR "${planted_tests}: '${name}' is not in POSTRIDER_PLANTED_MODULES.")
  endif()

  if(NOT POSTRIDER_TESTS)
    return()
  endif()
  set_property(GLOBAL PROPERTY POSTRIDER_HELPERS_${name} ${helpers})
  postrider_helpers(helpers ${name} ${arg_TEST_LINKS})
  if(tests)
    postrider_targets(links "" ${name} ${arg_TEST_LINKS})
    postrider_test(${name}_test "${tests};${helpers}" ${links})
  endif()
  if(planted_tests)
    postrider_targets(links _planted ${name} ${arg_TEST_LINKS})
    postrider_test(${name}_planted_test "${planted_tests};${helpers}" ${links})
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
endif()
