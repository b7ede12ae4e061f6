#include "postrider/stores/rocks/leftovers.h"

#include <algorithm>
#include <set>
#include <string>
#include <unistd.h>

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>

#include "postrider/stores/rocks/database.h"

namespace postrider::rocks {
namespace {

std::set<std::string> tables_of(const std::vector<FileSize>& files) {
  std::set<std::string> out;
  for (const FileSize& file : files) {
    if (file.name.ends_with(".sst")) out.insert(file.name);
  }
  return out;
}

}  // namespace

void remove_leftovers(const StoreOptions& options, const Directory& directory,
                      const std::vector<FileSize>& before) {
  const auto now = directory.database_files();
  if (!now) return;
  std::set<std::string> left = tables_of(*now);
  for (const std::string& name : tables_of(before)) left.erase(name);
  if (left.empty()) return;
  const auto database = Database::open(options, Database::Mode::kReadOnly);
  if (!database) return;
  std::vector<rocksdb::LiveFileMetaData> known;
  (*database)->db().GetLiveFilesMetaData(&known);
  for (const rocksdb::LiveFileMetaData& file : known) left.erase(file.relative_filename);
  for (const std::string& name : left) ::unlink(directory.file(name).c_str());
}

}  // namespace postrider::rocks
