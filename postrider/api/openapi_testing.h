// Holds answers against /openapi.json: a validator of the part of JSON Schema that the description
// uses. A keyword that it does not know is an error, so that nothing passes unchecked.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "postrider/api/door.h"

namespace postrider::api {

class OpenapiChecker {
 public:
  explicit OpenapiChecker(std::span<const OpenapiPart> doors = {});

  // What is wrong with the answer; empty: nothing. `pattern` as in the description's paths.
  std::string check(std::string_view method, std::string_view pattern, int status,
                    std::string_view content_type, std::string_view body) const;
  // Against "#/components/schemas/NAME".
  std::string check_schema(std::string_view name, std::string_view json) const;
  const boost::json::value& document() const { return document_; }

 private:
  const boost::json::value& resolve(const boost::json::value& node) const;
  std::string check_text(const boost::json::value& schema, std::string_view text) const;
  std::string validate(const boost::json::value& schema, const boost::json::value& value,
                       const std::string& where) const;
  std::string validate_keyword(std::string_view keyword, const boost::json::value& operand,
                               const boost::json::object& schema, const boost::json::value& value,
                               const std::string& where) const;
  std::string validate_object(const boost::json::object& schema, const boost::json::object& value,
                              const std::string& where) const;

  boost::json::value document_;
};

}  // namespace postrider::api
