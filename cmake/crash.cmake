# The crash tests: a daemon with planted bugs, and the program that kills daemons and compares logs.

file(GLOB crash_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/crash/*.cc)
list(FILTER crash_sources EXCLUDE REGEX "(_test|_main|/planted_serve)\\.cc$")
add_library(postrider_crash STATIC ${crash_sources})
target_link_libraries(postrider_crash PUBLIC postrider_rocks Threads::Threads)

add_executable(crash_rounds tests/crash/rounds_main.cc)
target_link_libraries(crash_rounds PRIVATE postrider_crash)
set_target_properties(crash_rounds PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Planted copies of what knows of bugs, and the usual copies of everything else: those include nothing
# of base/planted.h, so nothing has to be compiled a second time for this program. The files are named,
# because the targets would bring the usual copies of the planted modules with them.
set(usual)
set(planted)
set(libraries)
get_property(all_modules GLOBAL PROPERTY POSTRIDER_MODULES)
foreach(name IN LISTS all_modules)
  if(name IN_LIST POSTRIDER_PLANTED_MODULES)
    list(APPEND planted postrider_${name}_planted)
  else()
    list(APPEND usual $<TARGET_FILE:postrider_${name}>)
    list(APPEND libraries postrider_${name})
  endif()
endforeach()
add_executable(postrider_planted tests/crash/planted_serve.cc)
target_compile_definitions(postrider_planted PRIVATE POSTRIDER_PLANTED_BUGS=1)
target_include_directories(postrider_planted PRIVATE $<TARGET_PROPERTY:tl::expected,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(postrider_planted PRIVATE
  -Wl,--start-group ${usual} ${planted} -Wl,--end-group
  postrider_boost postrider::rocksdb postrider::cares Boost::json Boost::url)
add_dependencies(postrider_planted ${libraries})
set_target_properties(postrider_planted PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

file(GLOB crash_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/crash/*_test.cc)
postrider_test(crash_test "${crash_tests}" postrider_crash postrider_api)
target_compile_definitions(crash_test PRIVATE
  POSTRIDER_BINARY="$<TARGET_FILE:postrider>"
  POSTRIDER_PLANTED_BINARY="$<TARGET_FILE:postrider_planted>")
add_dependencies(crash_test postrider postrider_planted)
