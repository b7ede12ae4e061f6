# Compiler settings shared by everything we compile. Third-party code comes from packages only, so
# settings of the whole directory tree are enough.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Optimisation comes from the build type; the CMake defaults are replaced, because assert() of the
# libraries we use stays on in every build, and because line tables are enough to read a backtrace.
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

include_directories(${CMAKE_SOURCE_DIR})
add_compile_options(-pthread) # of all or of none: it decides which precompiled headers fit

add_compile_options(
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wnull-dereference -Wextra-semi
  # Designated initialisers leave the rest at their defaults on purpose.
  -Wno-missing-field-initializers)
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  # g++ 12 forgets that precompiled headers are the system's, and warns about them where they are inlined. The preset
  # dev, which has none, keeps these warnings.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
endif()
if(POSTRIDER_WERROR)
  add_compile_options(-Werror)
endif()

# __FILE__ is relative to the repository, so that what a failed check prints does not depend on where the
# clone lies. Debuggers and sanitizers still see full names.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(POSTRIDER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "POSTRIDER_FUZZ needs clang; use: cmake --preset fuzz")
  endif()
  set(sanitizers fuzzer-no-link,address,undefined)
else()
  set(sanitizers ${POSTRIDER_SANITIZE})
endif()
if(sanitizers)
  # Instrumented code takes twice as long to optimise, and gains little from it.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()
if(sanitizers OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(POSTRIDER_CHECKED=1) # the engine checks its invariants after every step
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-fstack-protector-strong)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(NOT sanitizers)
    add_compile_definitions(_FORTIFY_SOURCE=2) # hides errors from the address sanitizer
  endif()
endif()

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  if(CCACHE)
    # What ccache needs to see through precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
      add_compile_options(-fpch-preprocess)
    endif()
  endif()
endif()
