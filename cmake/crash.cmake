# The crash tests: a daemon with planted bugs, the program that kills daemons and compares logs, and
# the one that damages what they leave behind.

file(GLOB crash_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/crash/*.cc)
list(FILTER crash_sources EXCLUDE REGEX "(_test|_main|/planted_serve|/link_serve)\\.cc$")
add_library(postrider_crash STATIC ${crash_sources})
target_link_libraries(postrider_crash PUBLIC postrider_rocks Threads::Threads)
postrider_precompile(postrider_crash postrider_base)

add_executable(crash_rounds tests/crash/rounds_main.cc)
target_link_libraries(crash_rounds PRIVATE postrider_crash)
set_target_properties(crash_rounds PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_executable(damage_rounds tests/crash/damages_main.cc)
target_link_libraries(damage_rounds PRIVATE postrider_crash)
set_target_properties(damage_rounds PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_executable(postrider_planted tests/crash/planted_serve.cc)
target_link_libraries(postrider_planted PRIVATE postrider_bugs ${POSTRIDER_ALL})
set_target_properties(postrider_planted PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_executable(postrider_link tests/crash/link_serve.cc)
target_link_libraries(postrider_link PRIVATE ${POSTRIDER_ALL})
set_target_properties(postrider_link PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

file(GLOB crash_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/crash/*_test.cc)
postrider_helpers(crash_helpers http)
postrider_test(crash_test "${crash_tests}" ${crash_helpers} postrider_crash postrider_api)
target_compile_definitions(crash_test PRIVATE
  POSTRIDER_BINARY="$<TARGET_FILE:postrider>"
  POSTRIDER_PLANTED_BINARY="$<TARGET_FILE:postrider_planted>"
  POSTRIDER_LINK_BINARY="$<TARGET_FILE:postrider_link>")
add_dependencies(crash_test postrider postrider_planted postrider_link)
