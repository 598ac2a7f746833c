# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DINPUT=file -DOUTPUT=file -P EmbedFile.cmake: bytes as elements of a C array. Not #embed or
# .incbin: compiler caches do not see what those read.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" lines "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
file(WRITE "${OUTPUT}" "${bytes}\n")
