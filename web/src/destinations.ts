// How a destination is, in the words of the screen, and what a new one is made of. Pure.
import { count, plural } from "./format.ts";
import type { Destination, Health, SettingRow } from "./types.ts";

// Health as the daemon decides it, and one word more: open, but many attempts fail.
export const kConditions = ["normal", "degraded", "wait", "probe", "deep", "catch-up", "paused", "disabled"] as const;
export type Condition = (typeof kConditions)[number];

export function conditionOf(one: Pick<Destination, "health" | "degraded">): Condition {
  const health: Health = one.health;
  return health === "normal" && one.degraded === true ? "degraded" : health;
}

type Counted = Pick<Destination, "delivered_last_ten_minutes" | "failed_last_ten_minutes">;

function attemptsOf(one: Counted): number {
  return (one.delivered_last_ten_minutes ?? 0) + (one.failed_last_ten_minutes ?? 0);
}

// "96 %"; nothing when no attempt ended lately.
export function successText(one: Pick<Destination, "success_percent">): string | undefined {
  return one.success_percent === undefined ? undefined : `${one.success_percent} %`;
}
export function successHint(one: Counted): string {
  return `${count(one.delivered_last_ten_minutes ?? 0)} of ${plural(attemptsOf(one), "attempt")} in the last ten minutes`;
}

// Why it is not as it should be; empty when it is.
export function whyOf(one: Destination): string {
  if (conditionOf(one) === "degraded") return `${count(one.failed_last_ten_minutes ?? 0)} of ${plural(attemptsOf(one), "attempt")} failed in the last ten minutes`;
  if (one.reason !== undefined) return one.reason;
  if (one.draining) return "it is being removed when it is empty";
  return one.strikes > 0 ? `${one.strikes} failures in a row` : "";
}

// The last error, unless the reason of its health says the same.
export function lastErrorOf(one: Destination): { text: string; at: string | undefined } | undefined {
  const text = one.last_error ?? one.last_failure;
  if (text === undefined || whyOf(one).includes(text)) return undefined;
  return { text, at: one.last_failure_at };
}

export const kNamePattern = "[A-Za-z0-9][A-Za-z0-9._\\-:@+=~\\[\\]]{0,254}";

export const requiredOf = (rows: SettingRow[]) => rows.filter((row) => row.default === "required");
export const hasSecret = (rows: SettingRow[]) => rows.some((row) => row.setting === "secret");

// Lines of `name = value`, as in the configuration file but without quotes. The daemon knows which names there are.
export function settingsFrom(text: string): { settings: Record<string, string>; wrong?: string } {
  const settings: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter((one) => one !== "")) {
    const mark = line.indexOf("=");
    const name = line.slice(0, Math.max(mark, 0)).trim();
    const value = line.slice(mark + 1).trim();
    if (name === "" || value === "") return { settings, wrong: line };
    settings[name] = value;
  }
  return { settings };
}

// For Standard Webhooks: whsec_ and base64 of 24 to 64 random bytes.
export const kSecretBytes = 32;
export function secretOf(random: Uint8Array): string {
  return `whsec_${btoa(String.fromCharCode(...random))}`;
}
