// Authentication of federation requests, "Authorization: X-Matrix …": the request is described by
// an object, and the origin signs that. The body stands in it once, in canonical form: a
// transaction is written, signed and sent from the same buffer. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/matrix/key_object.h"
#include "postrider/protocols/matrix/signing.h"

namespace postrider::matrix {

inline constexpr std::size_t kAuthorizationBytesMax = 8 * 1024;

struct RequestWords {
  std::string_view method;
  std::string_view uri;  // path and query as they are sent
  std::string_view origin;
  std::string_view destination;
};

// The signed bytes of a request and, inside of them, its body.
class SplicedRequest {
 public:
  // `write_body(std::string& out)` appends the body in canonical form; nothing: no body.
  template <class WriteBody>
  static SplicedRequest make(const RequestWords& words, WriteBody&& write_body) {
    SplicedRequest request;
    request.open();
    write_body(request.bytes_);
    request.close(words);
    return request;
  }
  std::string_view signed_bytes() const { return bytes_; }
  std::string_view body() const { return std::string_view(bytes_).substr(body_begin_, body_size_); }

 private:
  void open();
  void close(const RequestWords& words);
  std::string bytes_;
  std::size_t body_begin_ = 0;
  std::size_t body_size_ = 0;
};

// The body as it is signed: itself when it is canonical, else its canonical form, in `scratch`.
// Only bodies with parts that other programs wrote need it.
Result<std::string_view> signed_content(std::string_view body, std::string& scratch);

// `content` is canonical, or empty: the request has no body.
std::string signed_request(const RequestWords& words, std::string_view content);
// The value of the header.
std::string authorization_of(const RequestWords& words, std::string_view key_id,
                             std::string_view signature);

struct XMatrix {
  std::string origin;
  std::optional<std::string> destination;  // old servers leave it out
  std::string key;
  std::string signature;
  bool operator==(const XMatrix&) const = default;
};
// Names in any case and order, blanks round commas, values in quotes with escapes or without them;
// unknown names are passed over. kInvalid for everything else, and for a name given twice.
Result<XMatrix> parse_x_matrix(std::string_view header);

// What becomes of a request of another server.
enum class Authentication : std::uint8_t {
  kValid,
  kMissing,           // no header of ours: 401
  kMalformed,         // 400
  kWrongDestination,  // 401
  kUnknownKey,        // no key of that id: 401, unless a newer key object has it
  kForged,            // 401
};
// The status to answer with; 200 for a valid one.
std::uint16_t status_of(Authentication authentication);

// `content` is the body as it came, empty when there is none; one that is no JSON, or cannot be
// canonical, is malformed. `keys` are those of the header's origin that hold now.
Authentication authenticate(const XMatrix& header, const RequestWords& request,
                            std::string_view content, std::span<const VerifyKey> keys);

}  // namespace postrider::matrix
