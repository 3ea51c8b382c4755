# `cmake --install` and find_package(cortado): the modules as cortado::<module>, all of them as cortado::cortado.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY CORTADO_MODULES)
add_library(cortado_all INTERFACE)
add_library(cortado::cortado ALIAS cortado_all)
set_target_properties(cortado_all PROPERTIES EXPORT_NAME cortado)
target_link_libraries(cortado_all INTERFACE ${modules})

install(TARGETS ${modules} cortado_all EXPORT cortado-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cortado DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS cortado RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# All that is installed; the command line alone needs less. tools/install builds it.
add_custom_target(installable)
add_dependencies(installable cortado ${modules})
foreach(binding cortado_c cortado_python)
  if(TARGET ${binding})
    add_dependencies(installable ${binding})
  endif()
endforeach()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cortado)
install(EXPORT cortado-targets NAMESPACE cortado:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cortado-config.cmake.in
                              ${PROJECT_BINARY_DIR}/cortado-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cortado-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cortado-config.cmake ${PROJECT_BINARY_DIR}/cortado-config-version.cmake
        DESTINATION ${package_folder})
