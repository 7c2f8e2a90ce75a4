// Errors that say what they are about.
#pragma once

#include <string>

#include <restride/error.hpp>

namespace restride::io {

/// What `parse` makes of a file or a member; errors of its content begin with its name.
template <class Parse>
auto naming(const std::string& what, Parse&& parse) -> decltype(parse()) {
  try {
    return parse();
  } catch (const ParseError& e) {
    throw ParseError(what + ": " + e.what());
  } catch (const UnsupportedError& e) {
    throw UnsupportedError(what + ": " + e.what());
  } catch (const RangeError& e) {  // a shape whose bytes nothing can address
    throw RangeError(what + ": " + e.what());
  }
}

}  // namespace restride::io
