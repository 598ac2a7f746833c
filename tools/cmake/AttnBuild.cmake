# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How this repository builds its own libraries. Not installed.

# attn_library(NAME SOURCES ... LINK ... [MLIR]): a static library of the house.
# MLIR says that it uses MLIR: the shared libMLIR and libLLVM are linked, and the
# headers that every such file reads come precompiled.
function(attn_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp -fno-exceptions -Wall -Wextra -Wno-unused-parameter -Wno-c++20-extensions)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} LLVM)
  if(ARG_MLIR)
    target_link_libraries(${name} PUBLIC MLIR)
    if(NOT name STREQUAL AttnDialect)
      target_precompile_headers(${name} REUSE_FROM AttnDialect)
    endif()
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
