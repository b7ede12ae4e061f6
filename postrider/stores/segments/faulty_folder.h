// A folder for rehearsals, as stores/rocks/faulty_files.h is one for RocksDB. It keeps bytes that
// were written and not yet synced in the memory of the process, so that kill -9 loses them as a
// power cut would; and it fails on command. Names whose folder was not synced it does not rehearse.
#pragma once

#include <memory>

#include "postrider/stores/file_faults.h"
#include "postrider/stores/segments/files.h"

namespace postrider::segments {

struct Rehearsal {
  std::shared_ptr<FileFaults> faults;  // may be null
  bool drop_unsynced = false;
  bool skip_sync = false;  // a sync does nothing, and says that it was done
};
std::unique_ptr<Folder> make_faulty_folder(std::unique_ptr<Folder> real, Rehearsal rehearsal);

}  // namespace postrider::segments
