# Third-party packages. Why each is here: docs/dependencies.md. How to install: scripts/install-deps.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto SSL)
find_package(Boost 1.81 REQUIRED)
if(POSTRIDER_TESTS OR POSTRIDER_FUZZ)
  find_package(Boost 1.81 REQUIRED COMPONENTS json)
endif()
find_package(tl-expected REQUIRED CONFIG)

# Packages without a CMake file of their own: postrider::NAME from a header and a library.
function(postrider_package name header library)
  string(TOUPPER ${name} prefix)
  find_path(${prefix}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${prefix}_LIBRARY ${library} REQUIRED)
  add_library(postrider::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(postrider::${name} PROPERTIES
    IMPORTED_LOCATION ${${prefix}_LIBRARY}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${${prefix}_INCLUDE_DIR})
endfunction()
postrider_package(xxhash xxhash.h xxhash)
postrider_package(rocksdb rocksdb/db.h rocksdb)
postrider_package(cares ares.h cares)
postrider_package(nghttp2 nghttp2/nghttp2.h nghttp2)
postrider_package(mosquitto mosquitto.h mosquitto)
postrider_package(bzip2 bzlib.h bz2)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

# Asio and Beast are compiled once, here, and not in every file that uses them.
add_library(postrider_boost STATIC ${CMAKE_SOURCE_DIR}/cmake/boost.cc)
target_compile_definitions(postrider_boost PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
# g++ 12 warns about pointers inside them, wherever they are inlined.
target_compile_options(postrider_boost PUBLIC -Wno-null-dereference)
target_link_libraries(postrider_boost PUBLIC Boost::headers OpenSSL::SSL OpenSSL::Crypto Threads::Threads)

if(POSTRIDER_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_package(GTest REQUIRED CONFIG)
  find_package(rapidcheck REQUIRED CONFIG)
endif()
if(POSTRIDER_BENCH)
  find_package(benchmark REQUIRED CONFIG)
endif()
