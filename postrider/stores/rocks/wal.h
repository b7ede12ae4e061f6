// Reads RocksDB's write-ahead log without RocksDB, because RocksDB 7.8 takes a damaged length in
// the last block for an unfinished record and drops what follows in silence. Every commit of ours
// is one record and is synced before the next begins; so a broken record that a later one follows
// was acknowledged once, and the store must not open as if it had never been.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/stores/rocks/directory.h"

namespace postrider::rocks {

struct WalScan {
  std::uint64_t records = 0;
  std::uint64_t first_sequence = 0;  // of the first record; 0: there is none
  std::uint64_t next_sequence = 0;   // of the record behind the last good one; 0: unknown
  std::uint64_t good_bytes = 0;      // up to the end of the last good record
  struct Break {
    std::uint64_t at = 0;        // the offset of the part that cannot be read
    std::string what;            // for people
    bool incomplete = false;     // it ends with the file, as when the process died while writing
    std::uint64_t followed = 0;  // the offset of a good record behind it; 0: none
  };
  std::optional<Break> broken;
};
// A record that seems cut off while its checksum holds for another length was finished once, and
// its length was changed since.
WalScan scan_wal(std::string_view bytes);

struct WalFile {
  std::string name;
  std::uint64_t number = 0;
  WalScan scan;
};
// All logs of the directory, oldest first.
Result<std::vector<WalFile>> scan_wals(const Directory& directory);
// nullopt: nothing is wrong beyond an unfinished last record. Otherwise what is, with the file. A
// log that holds the records of another one is damage: RocksDB would end the process.
std::optional<std::string> damage_of(const std::vector<WalFile>& files);

}  // namespace postrider::rocks
