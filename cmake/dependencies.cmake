# Third-party packages. Why each is here: docs/dependencies.md. How to install: scripts/install-deps.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(tl-expected REQUIRED CONFIG)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(postrider::xxhash UNKNOWN IMPORTED)
set_target_properties(postrider::xxhash PROPERTIES
  IMPORTED_LOCATION ${XXHASH_LIBRARY}
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE_DIR})

if(POSTRIDER_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_package(GTest REQUIRED CONFIG)
  find_package(rapidcheck REQUIRED CONFIG)
endif()
if(POSTRIDER_BENCH)
  find_package(benchmark REQUIRED CONFIG)
endif()
