# Many small files that read the same large headers: some are compiled together (docs/adr/0005), which ones is told by a hash of
# the name, so that a new file changes one group and not all that follow. Each has a namespace of its own.
#
# `folder` is where the files lie and an include directory of the target. CMake's own unity build would do, but it writes
# absolute paths, so that a compiler cache could not serve several checkouts.
function(longshore_group target folder)
  set(groups "")
  foreach(file ${ARGN})
    file(RELATIVE_PATH name ${folder} ${file})
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 1 hash)
    list(APPEND groups ${hash})
    string(APPEND includes_${hash} "#include \"${name}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES groups)
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  foreach(hash ${groups})
    set(path ${CMAKE_CURRENT_BINARY_DIR}/groups/${target}_${hash}.cpp)
    file(CONFIGURE OUTPUT ${path} @ONLY CONTENT "${includes_${hash}}")
    target_sources(${target} PRIVATE ${path})
  endforeach()
endfunction()
