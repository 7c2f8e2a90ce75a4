# RESTRIDE_PREBUILT=FOLDER: a wheel around what a build folder holds (built with RESTRIDE_PYTHON and RESTRIDE_CLI on).
# Nothing is compiled: installing installs from there.
foreach(component_and_prefix "python|\${CMAKE_INSTALL_PREFIX}" "python_command|${SKBUILD_SCRIPTS_DIR}")
  string(REPLACE "|" ";" component_and_prefix "${component_and_prefix}")
  list(GET component_and_prefix 0 component)
  list(GET component_and_prefix 1 prefix)
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${RESTRIDE_PREBUILT}\" --strip
    --component ${component} --prefix \"${prefix}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
endforeach()
foreach(target restride_wheel restride_distributed_wheel restride_python restride_cli)  # what pyproject.toml asks to be built
  add_custom_target(${target})
endforeach()
