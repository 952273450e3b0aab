# Looks for what the command line makes of the passes in their page.
execute_process(COMMAND ${GSUB} passes --markdown OUTPUT_VARIABLE made COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} kept)
string(FIND "${kept}" "${made}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "the table of passes in ${PAGE} is out of date; put there what `gsub passes --markdown` prints")
endif()
