# Many small files that read the same large headers: some are compiled together (docs/adr/0005), which ones is told by a hash of
# the name, so that a new file changes one group and not all that follow. Each has a namespace of its own.
function(longshore_group target space)
  foreach(file ${ARGN})
    get_filename_component(stem ${file} NAME)
    string(MD5 hash ${stem})
    string(SUBSTRING ${hash} 0 1 hash)
    set_property(SOURCE ${file} PROPERTY UNITY_GROUP ${space}_${hash})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
