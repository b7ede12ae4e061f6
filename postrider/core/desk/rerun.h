// Reruns: messages that are made of earlier ones. Whether that may be is for the profile to say,
// where it minds; which message was made of which is kept under the id of the earlier one, so that
// the first of them leads to the last.
//
// Invariants
//   - A rerun and the name that leads to it are one commit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/packing.h"
#include "postrider/core/books/letters.h"
#include "postrider/core/books/names.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/templates.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Reruns {
 public:
  struct RerunOrder {  // a new message is to be made of this one
    MessageId former;
    const Opaque* parsed = nullptr;
    bool told_ran = false;    // where it came from could not rule it out
    bool regardless = false;  // the caller takes it upon himself
  };
  Reruns(const EngineOptions& options, Dictionaries dictionaries, Letters& letters, Names& names,
         const Templates& templates, Window& window, Lookup& lookup)
      : options_(options),
        dictionaries_(dictionaries),
        letters_(letters),
        names_(names),
        templates_(templates),
        window_(window),
        lookup_(lookup) {}
  Reruns(const Reruns&) = delete;
  Reruns& operator=(const Reruns&) = delete;

  void look_at_runs(Step& step, const ProfileSpec& profile, MessageId former);
  std::optional<Answer> refuse_rerun(Step& step, const ProfileSpec& profile,
                                     const RerunOrder& order);
  void note_run(Step& step, const ProfileSpec& profile, MessageId former, MessageId id);
  DeadLetter::Rerun rerun_of_letter(Step& step, MessageId id, const Blob& content);

  // How it ended; nothing: it lives, its end is forgotten, or something must be read first.
  std::optional<Phase> end_of(Step& step, MessageId id);
  // The first and all that were made of it, in the order of acceptance.
  std::vector<MessageId> runs_of(Step& step, MessageId first);

 private:
  std::string why_not_again(Step& step, const ProfileSpec& profile, const RerunOrder& order);

  const EngineOptions& options_;
  Dictionaries dictionaries_;
  Letters& letters_;
  Names& names_;
  const Templates& templates_;
  Window& window_;
  Lookup& lookup_;
};

}  // namespace postrider::core
