# A definition is a file. src/<folder>/<name>.cpp defines `<folder>::<prefix>_<name>`; a dot in the
# file name becomes an underscore. The table is generated from the folder: adding a file adds the
# definition, with no list to edit and no global constructor. A file that forgets its constant is a
# link error that names it. Helpers shared by several definitions are headers; main.cpp and a .cpp
# beside a header of the same name define nothing.
#
# `folder` lies in src/ (or in the project, where it begins with a slash) and may be nested; `space` is
# the namespace of the definitions and of all() and names(), the stems in the same order.
#
# With GROUPED some files are compiled together (group.cmake); then a file has a namespace of its own, and
# defines `<folder>::<prefix>_<name>::definition`.
function(longshore_registry target folder space prefix type header)
  cmake_parse_arguments(PARSE_ARGV 6 registry GROUPED "" "")
  if(folder MATCHES "^/")
    set(path ${CMAKE_SOURCE_DIR}${folder})
  else()
    set(path ${CMAKE_SOURCE_DIR}/src/${folder})
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${path}/*.cpp)
  set(externs "")
  set(rows "")
  set(names "")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME)
    string(REGEX REPLACE "\\.cpp$" "" stem ${stem})
    # Beside the commands lie helpers, told by their own header. In src/ each file is a definition.
    if(folder MATCHES "^/" AND (stem STREQUAL "main" OR EXISTS ${path}/${stem}.hpp))
      continue()
    endif()
    string(MAKE_C_IDENTIFIER ${prefix}_${stem} name)  # a prefix, since `and`, `or`, `if` are keywords
    if(registry_GROUPED)
      string(APPEND externs "namespace ${name} {\nextern const ${type} definition;\n}\n")
      string(APPEND name "::definition")
    else()
      string(APPEND externs "extern const ${type} ${name};\n")
    endif()
    string(APPEND rows "    &${name},\n")
    string(APPEND names "    \"${stem}\",\n")
  endforeach()
  file(CONFIGURE OUTPUT registry/${space}.cpp @ONLY CONTENT
"#include <span>
#include <string_view>
#include \"${header}\"
namespace longshore::${space} {
${externs}
namespace {
constinit const ${type}* const rows[] = {
${rows}};
constinit const std::string_view stems[] = {
${names}};
}
std::span<const ${type}* const> all() { return rows; }
std::span<const std::string_view> names() { return stems; }
}
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/registry/${space}.cpp)
  if(registry_GROUPED)
    longshore_group(${target} ${CMAKE_SOURCE_DIR}/src ${files})
  endif()
endfunction()

# src/cpu/<name>.<isa>.cpp is compiled with that ISA's flags.
function(longshore_isa_flags isa)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cpu/*.${isa}.cpp)
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${ARGN}")
endfunction()
