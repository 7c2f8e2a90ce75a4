// Expecting a typed error and reading its message.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace restride::test {

/// The message of the `E` that `body` throws; a failure and "" when it throws nothing or something else.
template <class E, class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

/// True when `text` holds every one of `parts`.
template <class... Parts>
::testing::AssertionResult holds(const std::string& text, const Parts&... parts) {
  ::testing::AssertionResult result = ::testing::AssertionSuccess();
  const auto check = [&](const std::string& part) {
    if (text.find(part) == std::string::npos && result)
      result = ::testing::AssertionFailure() << "no '" << part << "' in: " << text;
  };
  (check(parts), ...);
  return result;
}

}  // namespace restride::test
