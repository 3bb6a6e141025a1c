# A definition is a file. src/<folder>/<name>.cpp defines `<folder>::<prefix>_<name>`; a dot in the
# file name becomes an underscore. The table is generated from the folder: adding a file adds the
# definition, with no list to edit and no global constructor. A file that forgets its constant is a
# link error that names it. Helpers shared by several definitions are headers.
function(longshore_registry target folder prefix type header)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  set(externs "")
  set(rows "")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME)
    string(REGEX REPLACE "\\.cpp$" "" stem ${stem})
    string(MAKE_C_IDENTIFIER ${prefix}_${stem} name)  # a prefix, since `and`, `or`, `if` are keywords
    string(APPEND externs "extern const ${type} ${name};\n")
    string(APPEND rows "    &${folder}::${name},\n")
  endforeach()
  file(CONFIGURE OUTPUT registry/${folder}.cpp @ONLY CONTENT
"#include <span>
#include \"${header}\"
namespace longshore {
namespace ${folder} {
${externs}}
constinit const ${type}* const ${folder}_rows[] = {
${rows}};
namespace ${folder} { std::span<const ${type}* const> all() { return ${folder}_rows; } }
}
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/registry/${folder}.cpp)
endfunction()

# src/cpu/<name>.<isa>.cpp is compiled with that ISA's flags.
function(longshore_isa_flags isa)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cpu/*.${isa}.cpp)
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${ARGN}")
endfunction()
