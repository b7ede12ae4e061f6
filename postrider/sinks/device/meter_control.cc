#include "postrider/sinks/device/meter_control.h"

#include "postrider/json/json_writer.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

using json::JsonWriter;

std::string shown(const std::string& what) {
  constexpr std::string_view kToken = "TOKEN ";
  if (!what.starts_with(kToken)) return what;
  return std::string(kToken) + device::masked_token(std::string_view(what).substr(kToken.size()));
}

void write_time(JsonWriter& writer, std::string_view name, Timestamp time) {
  if (time.is_set()) writer.field(name, to_rfc3339(time));
}

void write_copy(JsonWriter& writer, const sim::Copy& copy) {
  writer.open_object().field("name", copy.name).field("meter", copy.meter);
  writer.field("what", shown(copy.what)).flag("act", copy.is_act).field("end", name_of(copy.end));
  writer.count("radiated", copy.radiated).count("ran", copy.ran).count("executed", copy.executed);
  write_time(writer, "taken_at", copy.taken_at);
  write_time(writer, "radiated_at", copy.radiated_at);
  write_time(writer, "closed_at", copy.closed_at);
  writer.close_object();
}

template <class Faults>
std::string render(std::span<const sim::FaultRow<Faults>> rows, const Faults& faults) {
  std::string out;
  JsonWriter writer(out);
  writer.open_object();
  for (const sim::FaultRow<Faults>& row : rows) writer.count(row.name, faults.*row.value);
  writer.close_object();
  return out;
}

template <class Faults>
Result<void> read(std::string_view body, std::span<const sim::FaultRow<Faults>> rows,
                  Faults& faults) {
  POSTRIDER_TRY(object, json::parse_object(body));
  Faults changed = faults;
  for (std::size_t i = 0; i < object.names.size(); ++i) {
    const std::string& key = object.names[i];
    const std::optional<std::int64_t> number = json::integer_of(object.items[i]);
    if (!number || *number < 0) return fail(ErrorCode::kInvalid, key + ": must be a whole number");
    const Result<void> set =
        sim::set_fault(rows, changed, key, static_cast<std::uint64_t>(*number));
    if (!set) return set;
  }
  faults = changed;
  return {};
}

}  // namespace

std::string render_ledger(const sim::MeterLedger& ledger, std::string_view meter) {
  const std::string only = meter.empty() ? "" : sim::without_zeros(meter);
  const auto is_asked = [&](const sim::Copy& copy) { return only.empty() || copy.meter == only; };
  std::string out;
  JsonWriter writer(out);
  writer.open_object().name("copies").open_array();
  for (const sim::Copy& copy : ledger.copies()) {
    if (is_asked(copy)) write_copy(writer, copy);
  }
  writer.close_array().name("runs").open_array();
  for (const sim::MeterLedger::Run& run : ledger.runs()) {
    const sim::Copy& copy = ledger.copy(run.copy);
    if (!is_asked(copy)) continue;
    writer.open_object().field("name", copy.name).field("meter", copy.meter);
    writer.field("what", shown(copy.what)).field("at", to_rfc3339(run.at));
    writer.flag("executed", run.executed).close_object();
  }
  writer.close_array().name("doubled").open_array();
  for (const sim::MeterLedger::Doubled& doubled : ledger.doubled()) {
    const sim::Copy& copy = ledger.copy(doubled.copy);
    if (!is_asked(copy)) continue;
    writer.open_object().field("name", copy.name).field("other", ledger.copy(doubled.other).name);
    writer.field("meter", copy.meter).field("what", shown(copy.what));
    writer.field("at", to_rfc3339(doubled.at)).close_object();
  }
  writer.close_array().close_object();
  return out;
}

std::string render_faults(const sim::NetworkFaults& faults) {
  return render(sim::network_fault_rows(), faults);
}
std::string render_faults(const sim::VendorFaults& faults) {
  return render(sim::vendor_fault_rows(), faults);
}
Result<void> read_faults(std::string_view body, sim::NetworkFaults& faults) {
  return read(body, sim::network_fault_rows(), faults);
}
Result<void> read_faults(std::string_view body, sim::VendorFaults& faults) {
  return read(body, sim::vendor_fault_rows(), faults);
}

}  // namespace postrider
