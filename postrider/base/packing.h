// Packing: short texts that look alike, in few bytes. A dictionary names the words that come again
// and again; those, and the bytes behind UUIDs and other hexadecimal digits, make a third of such a
// text. Plain functions; any thread.
//
// The packed form is a row of pieces, each begun by one byte: 01–4F that many bytes as they are;
// 50–6D hexadecimal digits in lower case, two for each of (byte − 4F) bytes; 6E a UUID, 16 bytes;
// 70–FF a word of the dictionary. Records hold it with the dictionary's number, so words are only
// ever appended to a dictionary, its number is never used for another one, and the bytes that begin
// a piece keep their meaning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider {

// At most 144 words of 3 to 79 bytes. The words outlive it.
class Dictionary {
 public:
  static constexpr std::size_t kWordsMax = 0x90;
  static constexpr std::size_t kWordBytesMin = 3;
  static constexpr std::size_t kWordBytesMax = 79;

  // `number`, from 1 on, is what records call it.
  constexpr Dictionary(std::uint8_t number, std::span<const std::string_view> words)
      : number_(number), words_(words) {
    for (std::size_t size = kWordBytesMin; size <= kWordBytesMax; ++size) {
      for (std::size_t i = 0; i < words.size() && i < kWordsMax; ++i) {
        if (words[i].size() != size) continue;
        std::uint8_t& first = first_[place_of(words[i])];
        next_[i + 1] = first;
        first = static_cast<std::uint8_t>(i + 1);
      }
    }
  }

  constexpr std::uint8_t number() const { return number_; }
  constexpr std::span<const std::string_view> words() const { return words_; }
  // For a static_assert beside the words.
  constexpr bool sound() const {
    if (number_ == 0 || words_.size() > kWordsMax) return false;
    for (const std::string_view word : words_) {
      if (word.size() < kWordBytesMin || word.size() > kWordBytesMax) return false;
    }
    return true;
  }

  // The number of the longest word at the beginning of the text, from 1 on; 0: none.
  std::size_t word_at(std::string_view text) const {
    if (text.size() < kWordBytesMin) return 0;
    for (std::size_t at = first_[place_of(text)]; at != 0; at = next_[at]) {
      if (text.starts_with(words_[at - 1])) return at;
    }
    return 0;
  }

 private:
  static constexpr std::size_t kPlaces = 1024;
  static constexpr std::size_t place_of(std::string_view text) {
    std::size_t hash = 0;
    for (std::size_t i = 0; i < kWordBytesMin; ++i)
      hash = hash * 131 + static_cast<unsigned char>(text[i]);
    return hash % kPlaces;
  }

  std::uint8_t number_;
  std::span<const std::string_view> words_;
  // Words by their first three bytes, the longest first. 0 ends a chain, so numbers begin with 1.
  std::array<std::uint8_t, kPlaces> first_{};
  std::array<std::uint8_t, kWordsMax + 1> next_{};
};

// All that a program knows, each with a number of its own.
using Dictionaries = std::span<const Dictionary* const>;
const Dictionary* find_dictionary(Dictionaries dictionaries, std::uint8_t number);  // null: none

// Whatever the text; but one without any of the words grows by an 80th.
std::string pack(std::string_view text, const Dictionary& dictionary);
// Nothing: these are no packed bytes, or they are more than `size_max` when unpacked.
std::optional<std::string> unpack(std::string_view bytes, const Dictionary& dictionary,
                                  std::size_t size_max);

// A UUID in lower case as its 16 bytes, and the other way; empty: it is none.
std::string bytes_of_uuid(std::string_view text);
std::string text_of_uuid(std::string_view bytes);

}  // namespace postrider
