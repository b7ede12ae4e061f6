// Views of the engine as JSON. Secrets are left out here and nowhere else, so that there is one
// place to look.
#pragma once

#include <string>
#include <string_view>

#include "postrider/api/http_api.h"
#include "postrider/api/json_names.h"
#include "postrider/api/message_words.h"
#include "postrider/model/answer.h"
#include "postrider/model/id_codec.h"

namespace postrider::api {

inline constexpr std::string_view kHidden = "***";

// Whether a setting or a header holds a secret, told by its name.
bool is_secret_name(std::string_view name);

std::string_view name_of(Explanation::Place place);
std::string_view name_of(Explanation::Next next);
std::string_view name_of(LogEntry::Kind kind);

// A field that is left out when there is nothing to say.
void time_field(JsonWriter& json, std::string_view name, Timestamp time);
void text_field(JsonWriter& json, std::string_view name, std::string_view text);

void write_body(JsonWriter& json, std::string_view body);  // as text, or as base64

// Message ids are written as they are known outside, by `ids` of the store.
void write_accepted(std::string& out, const IdCodec& ids, MessageId id,
                    std::string_view destination);
// What a command came to. `about` is the field that names its subject, "id" or "destination".
void write_done(std::string& out, const Answer& answer, std::string_view about,
                std::string_view subject);
void write_explanation(JsonWriter& json, const IdCodec& ids, const Explanation& explanation);
// What a message is shown with: its id, and the doors' names of its attributes.
struct MessageLook {
  const IdCodec& ids;
  const AllWords& words;
};
// With what the words of the doors say of one that is explained.
void write_explanation(JsonWriter& json, const MessageLook& look, const MessageView& view);
void write_message(JsonWriter& json, const MessageLook& look, const MessageView& view,
                   bool with_body);
// From what is recorded: attempts between the first and the last are not.
void write_timeline(JsonWriter& json, const IdCodec& ids, const MessageView& view);
void write_queue(JsonWriter& json, const QueueRow& row);
void write_destination(JsonWriter& json, const DestinationView& view);
void write_shape(JsonWriter& json, const ShapeRow& row);
void write_dead_letter(JsonWriter& json, const IdCodec& ids, const DeadLetter& letter);
void write_dead_groups(JsonWriter& json, const IdCodec& ids, const DeadGroupList& list);
void write_job(JsonWriter& json, const Job& job);
void write_dry_run(JsonWriter& json, const DryRun& run, JobAction action);
void write_hold(JsonWriter& json, const Hold& hold);
void write_audit(JsonWriter& json, const AuditPage::Line& line);
// `event` is its id, behind which a reader goes on.
void write_log_entry(JsonWriter& json, const IdCodec& ids, const LogEntry& entry,
                     std::string_view event);
void write_fanout_fields(JsonWriter& json, const IdCodec& ids, const FanoutView& fanout);
void write_operation(JsonWriter& json, const IdCodec& ids, const Answer& answer,
                     std::string_view key);
void write_stats(JsonWriter& json, const Stats& stats, const ProcessFigures& figures);

}  // namespace postrider::api
