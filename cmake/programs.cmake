# What is made of the modules: the executable, the tests across modules, benchmarks, fuzzers, and the
# checks of the repository itself.

get_property(modules GLOBAL PROPERTY POSTRIDER_MODULES)
postrider_targets(POSTRIDER_ALL ${modules})

file(GLOB app_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/postrider/*.cc)
set(app_tests ${app_sources})
list(FILTER app_tests INCLUDE REGEX "_test\\.cc$")
if(app_tests)
  message(FATAL_ERROR "${app_tests}: tests of the program belong into tests/.")
endif()
if(app_sources)
  add_executable(postrider ${app_sources})
  target_link_libraries(postrider PRIVATE ${POSTRIDER_ALL})
  target_compile_definitions(postrider PRIVATE POSTRIDER_VERSION="${PROJECT_VERSION}")
  postrider_precompile(postrider postrider_base)
  set_target_properties(postrider PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT sanitizers)
    # Line tables are four fifths of the file; debuggers find them in postrider.debug beside it.
    add_custom_command(TARGET postrider POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:postrider> $<TARGET_FILE:postrider>.debug
      COMMAND ${CMAKE_OBJCOPY} --strip-debug --remove-section=.gnu_debuglink
              --add-gnu-debuglink=$<TARGET_FILE:postrider>.debug $<TARGET_FILE:postrider>
      VERBATIM)
  endif()
else()
  message(STATUS "No sources in apps/postrider yet: the executable is left out.")
endif()

# Programs that embed the library, built and run by the tests.
if(POSTRIDER_TESTS)
  file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.cc)
  foreach(source IN LISTS examples)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    target_include_directories(example_${name} PRIVATE ${CMAKE_SOURCE_DIR}/postrider/include)
    target_link_libraries(example_${name} PRIVATE postrider_node)
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  endforeach()
endif()

if(POSTRIDER_TESTS)
  file(GLOB_RECURSE acceptance_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*_test.cc)
  list(FILTER acceptance_sources EXCLUDE REGEX "/tests/(crash|example_profile)/") # programs of their own
  if(acceptance_sources MATCHES "_planted_test\\.cc")
    message(FATAL_ERROR "Planted tests belong beside the module they prove, not into tests/.")
  endif()
  if(acceptance_sources)
    file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/*.cc)
    list(FILTER support_sources EXCLUDE REGEX "_test\\.cc$")
    postrider_helpers(helpers ${modules})
    postrider_test(acceptance_test "${acceptance_sources};${support_sources}" ${helpers} ${POSTRIDER_ALL})
    # Each test of the command line starts programs and reads them in its own way.
    list(FILTER acceptance_sources EXCLUDE REGEX "/tests/cli/")
    postrider_unity(acceptance_test folder ${acceptance_sources} ${support_sources})
    if(TARGET postrider)
      target_compile_definitions(acceptance_test PRIVATE POSTRIDER_BINARY="$<TARGET_FILE:postrider>")
      add_dependencies(acceptance_test postrider)
    endif()
  endif()

  # The profile of docs/adding-a-profile.md, with lists of its own: no other file of the tree names it.
  file(GLOB example_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/example_profile/*.cc)
  postrider_helpers(example_helpers ${modules})
  postrider_test(example_profile_test "${example_sources}" ${example_helpers} ${POSTRIDER_ALL})

  # Drives the gRPC transport for tests/interop.
  add_executable(grpc_call tests/interop/grpc_call.cc)
  target_link_libraries(grpc_call PRIVATE postrider_grpc)
  set_target_properties(grpc_call PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

  include(crash)

  # Tests with the real process, in Python with its standard library. What needs more than Debian's packages is left to
  # scripts/interop.
  if(TARGET postrider)
    file(GLOB process_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/e2e/*_test.py)
    list(APPEND process_tests ${CMAKE_SOURCE_DIR}/tests/interop/nginx_test.py)
    math(EXPR patience "${POSTRIDER_TEST_TIMEOUT} / 5") # an instrumented program takes its time
    foreach(file IN LISTS process_tests)
      cmake_path(GET file STEM stem)
      add_test(NAME e2e/${stem} COMMAND ${Python3_EXECUTABLE} ${file} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(e2e/${stem} PROPERTIES TIMEOUT ${POSTRIDER_TEST_TIMEOUT} LABELS fast
        ENVIRONMENT "POSTRIDER_BINARY=$<TARGET_FILE:postrider>;POSTRIDER_PATIENCE=${patience};PYTHONDONTWRITEBYTECODE=1")
    endforeach()
  endif()

  # Clients in other languages, each against a server of its own test.
  file(GLOB client_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/clients/python/*_test.py)
  foreach(file IN LISTS client_tests)
    cmake_path(GET file STEM stem)
    add_test(NAME clients/${stem} COMMAND ${Python3_EXECUTABLE} ${file} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(clients/${stem} PROPERTIES TIMEOUT 120 LABELS fast ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
  endforeach()

  # Types and pure functions of the dashboard; says so and is skipped where web/ has no packages. What needs a browser is left to
  # scripts/test-web.
  add_test(NAME web/unit COMMAND ${CMAKE_SOURCE_DIR}/scripts/test-web --unit)
  set_tests_properties(web/unit PROPERTIES TIMEOUT 120 LABELS fast SKIP_RETURN_CODE 77)

  function(postrider_tool_test name)
    add_test(NAME tools/${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(tools/${name} PROPERTIES TIMEOUT 60 LABELS fast)
  endfunction()
  set(tools ${CMAKE_SOURCE_DIR}/tools)
  postrider_tool_test(check_layers ${Python3_EXECUTABLE} ${tools}/check_layers)
  postrider_tool_test(check_layers_bites ${Python3_EXECUTABLE} ${tools}/check_layers --self-test)
  postrider_tool_test(check_docs ${Python3_EXECUTABLE} ${tools}/check_docs)
  postrider_tool_test(check_docs_bites ${Python3_EXECUTABLE} ${tools}/check_docs --self-test)
  postrider_tool_test(spec_coverage ${Python3_EXECUTABLE} ${tools}/spec_coverage)
  postrider_tool_test(spec_coverage_bites ${Python3_EXECUTABLE} ${tools}/spec_coverage --self-test)
  postrider_tool_test(render_profiles_bites ${Python3_EXECUTABLE} ${tools}/render_profiles --self-test)
  if(TARGET postrider)
    postrider_tool_test(profile_tables_are_fresh
      ${Python3_EXECUTABLE} ${tools}/render_profiles --check --binary $<TARGET_FILE:postrider>)
  endif()
endif()

if(POSTRIDER_BENCH)
  # The benchmarks that are not in the program.
  file(GLOB long_benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/long/*.cc)
  add_executable(postrider-bench ${long_benches} ${CMAKE_SOURCE_DIR}/apps/postrider/bench_figures.cc)
  target_link_libraries(postrider-bench PRIVATE ${POSTRIDER_ALL})
  postrider_precompile(postrider-bench postrider_base)
  set_target_properties(postrider-bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

  add_custom_target(benches)
  file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*_bench.cc)
  foreach(source IN LISTS bench_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE ${POSTRIDER_ALL} benchmark::benchmark_main)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    add_dependencies(benches ${name})
  endforeach()
endif()

if(POSTRIDER_FUZZ)
  add_custom_target(fuzzers)
  file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
  foreach(source IN LISTS fuzz_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${POSTRIDER_ALL} Boost::json)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
    add_dependencies(fuzzers ${name})
  endforeach()
endif()
