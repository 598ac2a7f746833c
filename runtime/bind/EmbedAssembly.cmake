# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DINPUT=Run.x86_64.s -DNAME=Run -DOUTPUT=file -P EmbedAssembly.cmake: a source file's assembly as a Part of
# Embedded.h. What it defines becomes local, and labels and static functions take NAME into their own, for they will
# stand in one module with all else.
file(READ "${INPUT}" text)

# -funique-internal-linkage-names calls a static function _ZL<length><name><types>.__uniq.<number>.
string(REGEX MATCHALL "_ZL[0-9]+[A-Za-z0-9_]+\\.__uniq\\.[0-9]+" marked "${text}")
list(REMOVE_DUPLICATES marked)
foreach(mark IN LISTS marked)
  string(REGEX MATCH "_ZL([0-9]+)(.*)" all "${mark}")
  string(SUBSTRING "${CMAKE_MATCH_2}" 0 ${CMAKE_MATCH_1} name)
  string(REPLACE "${mark}" "attn_${NAME}.${name}" text "${text}")
endforeach()
string(REPLACE ".L" ".L${NAME}." text "${text}")
string(REPLACE "OUTLINED_FUNCTION_" "attn_${NAME}.outlined" text "${text}")
string(REPLACE "@PLT" "" text "${text}")

# names_after(REGEX OUT): the quoted names that come after, with commas.
function(names_after what out)
  string(REGEX MATCHALL "\t${what}\t(attn|halide)_[a-z0-9_]+\n" names "${text}")
  list(TRANSFORM names REPLACE "\t.*\t(.*)\n" "\"\\1\"")
  list(REMOVE_DUPLICATES names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()
names_after("\\.globl" defined)
names_after("(callq|jmp|bl|b)" needed)
list(REMOVE_ITEM needed ${defined})
list(JOIN defined ", " defined)
list(JOIN needed ", " needed)

string(REGEX REPLACE "\t\\.(globl|hidden|file)\t[^\n]*\n" "" text "${text}")
file(WRITE "${OUTPUT}" "{R\"asm(${text})asm\", {${defined}}, {${needed}}},\n")
