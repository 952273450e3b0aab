# Compares a page with what the command line makes of the tables.
execute_process(COMMAND ${GSUB} ${COMMAND} --markdown OUTPUT_VARIABLE made COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} kept)
if(NOT made STREQUAL kept)
  message(FATAL_ERROR "${PAGE} is out of date; make it anew with `gsub ${COMMAND} --markdown`")
endif()
