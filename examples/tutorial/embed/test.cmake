# cmake -DWORK=<folder with reader> -DDIGITS=<examples/digits> -DGENERATOR=<generator> -DCXX_COMPILER=<c++> -P test.cmake
# Builds the program beside this file with the exported reader, runs it, and counts what it reads.
cmake_minimum_required(VERSION 3.13)
get_filename_component(here "${CMAKE_CURRENT_LIST_FILE}" DIRECTORY)
file(REMOVE_RECURSE "${WORK}/embed")

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE failed OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(failed)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  message("${output}")
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${here}" -B embed "-DREADER=${WORK}/reader" -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
run("${CMAKE_COMMAND}" --build embed --parallel 2)
run(embed/read_digits reader/weights.bin "${DIGITS}/images.npy")
string(REGEX REPLACE "[^?]" "" unsure "${output}")
string(LENGTH "${unsure}" unsure)
if(NOT unsure EQUAL 14)
  message(FATAL_ERROR "14 of the images are unsure, not ${unsure}")
endif()
