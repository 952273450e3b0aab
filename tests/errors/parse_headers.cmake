# cmake -DSOURCE=headers.hpp -DCOMPILER=g++ -DFLAGS=-Ia;-Ib -DHEADERS=build/headers.hpp -P parse_headers.cmake
# Has the compiler parse headers once, into a file that it finds where HEADERS is included first.
file(WRITE ${HEADERS} "#include \"${SOURCE}\"\n")
execute_process(COMMAND ${COMPILER} -std=c++20 -fmessage-length=0 ${FLAGS} -x c++-header ${HEADERS} -o ${HEADERS}.gch
  COMMAND_ERROR_IS_FATAL ANY)
