# cmake -DGSUB=<gsub> -DWORK=<folder> -DGENERATOR=<generator> -DCXX_COMPILER=<c++> -P test.cmake
# Compiles the digits model ahead of time, builds the program beside this file with it, and compares with the reference.
cmake_minimum_required(VERSION 3.13)
get_filename_component(here "${CMAKE_CURRENT_LIST_FILE}" DIRECTORY)
set(digits "${here}/../digits")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE failed
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  message("${output}")
endfunction()

run("${GSUB}" --quiet compile "${digits}/digits.onnx" --optimize -o "${WORK}/model")
run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${here}" -B "${WORK}/build" "-DMODEL=${WORK}/model" -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
file(READ "${WORK}/build/compile_commands.json" commands)
get_filename_component(include "${here}/../../include" ABSOLUTE)
string(FIND "${commands}" "${include}" leak)
if(NOT leak EQUAL -1)
  message(FATAL_ERROR "the program is compiled with ${include}")
endif()
run("${CMAKE_COMMAND}" --build "${WORK}/build" --parallel 2)
run("${GSUB}" --quiet run "${digits}/digits.onnx" --input "image=${digits}/images.npy" --backend reference
    --output-dir "${WORK}/reference")
run("${WORK}/build/classify" "${WORK}/model/weights.bin" "${digits}/images.npy" "${digits}/labels.npy"
    "${WORK}/reference/output_0.npy")
