# Half the time of a file went into the standard library's headers: they are compiled once for each target.
#
# Only headers from outside the project may stand here. GCC tells headers with `#pragma once` apart by content
# and time, so a compiler cache that gives one checkout's precompiled header to another would have ours read twice;
# and a change to one of ours would rebuild everything.
set(longshore_standard_headers
  <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <unordered_map> <variant>
  <vector>)

function(longshore_precompile target)
  if(NOT LONGSHORE_PRECOMPILED)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${longshore_standard_headers} ${ARGN})
  # GCC's file differs from run to run, so it is not what ccache may tell objects by: this text is.
  set(sum "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${longshore_standard_headers} ${ARGN}\n")
  foreach(suffix gch pch)
    file(CONFIGURE OUTPUT CMakeFiles/${target}.dir/cmake_pch.hxx.${suffix}.sum CONTENT "${sum}")
  endforeach()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # ccache wants the file without it
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# Inner loops are compiled for an instruction set and must not hold inline functions of the standard library.
file(GLOB inner_loops CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cpu/*.cpp)
set_source_files_properties(${inner_loops} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
