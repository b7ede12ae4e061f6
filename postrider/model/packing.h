// Packing: short texts that look alike, in few bytes. Commands to devices, their events and what is
// told of them are JSON with the same names again and again; a table of those, and the bytes behind
// UUIDs and other hexadecimal digits, make a third of it. Plain functions; any thread.
//
// The packed form is a row of pieces, each begun by one byte: 01–4F that many bytes as they are;
// 50–6D hexadecimal digits in lower case, two for each of (byte − 4F) bytes; 6E a UUID, 16 bytes;
// 70–FF a word of the table. Records hold it, so words are only ever appended to the table, and the
// bytes that begin a piece keep their meaning.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

// Whatever the text; but one without any of the words grows by an 80th.
std::string pack(std::string_view text);
// Nothing: these are no packed bytes, or they are more than `size_max` when unpacked.
std::optional<std::string> unpack(std::string_view bytes, std::size_t size_max);

// A UUID in lower case as its 16 bytes, and the other way; empty: it is none.
std::string bytes_of_uuid(std::string_view text);
std::string text_of_uuid(std::string_view bytes);

}  // namespace postrider
