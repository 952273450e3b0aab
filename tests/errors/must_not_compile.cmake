# cmake -DSOURCE=case.cpp -DCOMPILER=g++ -DFLAGS=-Ia;-Ib -DHEADERS=build/headers.hpp -P must_not_compile.cmake
# Passes where the compiler refuses the file with the words of its first line, `// expect: words`, or accepts it where
# the line says `// expect: success`.
file(STRINGS ${SOURCE} first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE} does not begin with `// expect: words`")
endif()
set(words "${CMAKE_MATCH_1}")

execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -fmessage-length=0 ${FLAGS} -include ${HEADERS} ${SOURCE}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(SUBSTRING "${output}" 0 4000 beginning)

if(words STREQUAL "success")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "should compile, but does not:\n${beginning}")
  endif()
elseif(status EQUAL 0)
  message(FATAL_ERROR "should not compile, but does")
else()
  # Compilers quote names in their own ways.
  string(REGEX REPLACE "['‘’]" "" plain "${output}")
  string(FIND "${plain}" "${words}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "does not compile, but the compiler does not say: ${words}\n${beginning}")
  endif()
endif()
