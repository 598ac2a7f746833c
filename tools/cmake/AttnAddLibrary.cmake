# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#[[
attn_add_library(name
  SOURCES layer.attn ...       one object and one header each: layer.o, layer.h
  [TARGETS host|x86-64-v3|...] the machines to compile for (default: host): processors of one architecture, with CUDA
                               devices beside them or alone (host cuda:sm_80 cuda:sm_90; a call runs where its tensors
                               are), or one of opencl, vulkan and cuda
  [DEFINES W=4096 ...]         extents that are fixed now
  [IMPORTS folder ...]         where the specs' imports are looked for, besides the spec's own folder and the library
  [SCHEDULE file]              how the kernels run, in place of what the compiler would choose
  [TUNING file]                what `attnc tune` found for them; not together with SCHEDULE
  [CHECK])                     ctest also checks each spec's kernels against the reference interpreter

A static library. Linking it brings the directory of the headers and the runtime. Each spec is compiled by a command of
its own, so a changed spec rebuilds its own kernels only, and specs are compiled in parallel.
]]
function(attn_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CHECK" "SCHEDULE;TUNING" "SOURCES;TARGETS;DEFINES;IMPORTS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "attn_add_library(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "attn_add_library(${name}): SOURCES names no spec")
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS host)
  endif()

  set(alone ${ARG_TARGETS})
  list(FILTER alone INCLUDE REGEX "^(cuda|opencl|vulkan)$")
  if(alone AND NOT alone STREQUAL ARG_TARGETS)
    message(FATAL_ERROR "attn_add_library(${name}): TARGETS names ${alone} and others; its kernels take tensors in "
                        "ordinary memory, as a processor's do, so nothing would tell which are meant")
  endif()

  set(directory "${CMAKE_CURRENT_BINARY_DIR}/${name}.attn")
  file(MAKE_DIRECTORY "${directory}")
  list(JOIN ARG_TARGETS "," targets)
  set(options "--target=${targets}")
  foreach(define IN LISTS ARG_DEFINES)
    list(APPEND options -D "${define}")
  endforeach()
  foreach(folder IN LISTS ARG_IMPORTS)
    get_filename_component(folder "${folder}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options -I "${folder}")
  endforeach()
  if(ARG_SCHEDULE)
    get_filename_component(schedule "${ARG_SCHEDULE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options "--schedule=${schedule}")
  endif()
  if(ARG_TUNING)
    get_filename_component(tuning "${ARG_TUNING}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options "--tuning=${tuning}")
  endif()

  set(objects)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(spec "${source}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    get_filename_component(stem "${source}" NAME_WE)
    set(base "${directory}/${stem}")
    if("${base}.o" IN_LIST objects)
      message(FATAL_ERROR "attn_add_library(${name}): two specs are called ${stem}")
    endif()
    add_custom_command(
      OUTPUT "${base}.o" "${base}.h"
      COMMAND attn::attnc compile "${spec}" -o "${directory}" --emit=obj,header "--depfile=${base}.d" ${options}
      DEPENDS "${spec}" attn::attnc
      DEPFILE "${base}.d"
      COMMENT "Compiling attention ${stem}"
      VERBATIM)
    set_source_files_properties("${base}.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    list(APPEND objects "${base}.o")
    set(headers ${headers} "${base}.h")
    if(ARG_CHECK)
      set(check_options ${options})
      list(FILTER check_options EXCLUDE REGEX "^--target=")
      add_test(NAME "${name}.${stem}.check" COMMAND attn::attnc check "${spec}" ${check_options})
    endif()
  endforeach()

  add_library(${name} STATIC ${objects} ${headers})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${name} INTERFACE "${directory}")
  target_link_libraries(${name} INTERFACE attn::runtime)
endfunction()
