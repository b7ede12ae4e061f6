// Which hold keeps a destination paused. Pure.
import type { Destination, Hold, HoldRule } from "./types.ts";

type Held = Pick<Destination, "name" | "profile" | "settings">;

// As the daemon does: everything that is given must fit.
export function fits(rule: HoldRule, one: Held): boolean {
  return one.name.startsWith(rule.destination_prefix ?? "") && (!rule.profile || rule.profile === one.profile) &&
    (!rule.tenant || rule.tenant === one.settings["tenant"]);
}

// The hold that the reason of its pause names; otherwise the first that fits: a destination that is not in memory is paused
// when it comes there, and one that somebody paused before is held too.
export function holdOn(one: Held & Pick<Destination, "health" | "reason">, holds: Hold[]): Hold | undefined {
  const named = one.health === "paused" ? holds.find((hold) => one.reason?.startsWith(`hold '${hold.name}': `)) : undefined;
  return named ?? holds.find((hold) => fits(hold, one));
}

// Paused by an operator and not by a hold: that can be resumed.
export function isPausedApart(one: Pick<Destination, "health" | "reason">): boolean {
  return one.health === "disabled" || (one.health === "paused" && one.reason?.startsWith("hold '") !== true);
}

export function ruleText(rule: HoldRule): string {
  const parts = [
    rule.destination_prefix ? `names that begin with ${rule.destination_prefix}` : "",
    rule.tenant ? `tenant ${rule.tenant}` : "", rule.profile ? `profile ${rule.profile}` : "",
  ].filter((part) => part !== "");
  return parts.join(", ") || "every destination";
}
