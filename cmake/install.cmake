# Install and export: find_package(gsub) gives gsub::gsub and gsub::compiled, gsub::jit where Xbyak was found,
# and gsub::mpi, a component to ask for, where MPI was.
include(CMakePackageConfigHelpers)
install(TARGETS gsub gsub_compiled EXPORT gsub-targets
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILE_SET definitions DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(gsub_has_mpi FALSE)
if(TARGET gsub_mpi)
  set(gsub_has_mpi TRUE)
endif()
foreach(component gsub_jit gsub_mpi)
  if(TARGET ${component})
    install(TARGETS ${component} EXPORT gsub-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
set(gsub_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gsub)
install(EXPORT gsub-targets NAMESPACE gsub:: DESTINATION ${gsub_config_dir})
configure_package_config_file(cmake/gsub-config.cmake.in gsub-config.cmake INSTALL_DESTINATION ${gsub_config_dir})
write_basic_package_version_file(gsub-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gsub-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/gsub-config-version.cmake
  cmake/FindProtozero.cmake DESTINATION ${gsub_config_dir})
