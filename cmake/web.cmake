# The dashboard: web/ built with npm and written as C++ into the library postrider_web. It runs again only when something in web/
# changed. scripts/build-web does without npm where there is none.

option(POSTRIDER_WEB "Build the dashboard into the daemon, when npm is there" ON)

set(web ${CMAKE_SOURCE_DIR}/web)
file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*)
list(FILTER web_sources EXCLUDE REGEX "\\.test\\.ts$")
set(web_out ${CMAKE_BINARY_DIR}/web)
if(POSTRIDER_WEB)
  set(web_switch)
else()
  set(web_switch --off)
endif()
add_custom_command(
  OUTPUT ${web_out}/web_assets.cc ${web_out}/settled
  COMMAND ${CMAKE_SOURCE_DIR}/scripts/build-web ${web_out} ${web_switch}
  DEPENDS ${web_sources} ${web}/index.html ${web}/vite.config.ts ${web}/tsconfig.json ${web}/embed.mjs
          ${web}/package.json ${web}/package-lock.json ${CMAKE_SOURCE_DIR}/scripts/build-web
  COMMENT "Building the dashboard"
  VERBATIM)
add_library(postrider_web STATIC ${web_out}/web_assets.cc)
target_link_libraries(postrider_web PRIVATE tl::expected)
