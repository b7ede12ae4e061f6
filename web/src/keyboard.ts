// Keys: g and a letter goes somewhere, j and k walk through a list, / filters, ? helps.
import { signal } from "@preact/signals";
import { go } from "./route.ts";
import { switchTheme } from "./theme.ts";

export const helpShown = signal(false);

export const kPlaces: { key: string; to: string; name: string }[] = [
  { key: "o", to: "#/", name: "Overview" },
  { key: "d", to: "#/destinations", name: "Destinations" },
  { key: "g", to: "#/groups", name: "Groups" },
  { key: "m", to: "#/mailboxes", name: "Mailboxes" },
  { key: "l", to: "#/dead-letters", name: "Dead letters" },
  { key: "j", to: "#/jobs", name: "Jobs" },
  { key: "p", to: "#/profiles", name: "Profiles" },
  { key: "a", to: "#/audit", name: "Audit" },
];

const kChordTime = 1200;
let chordUntil = 0;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

// The rows of a list are links, so that Enter opens the one that has the focus.
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

function filter(): boolean {
  const field = document.querySelector<HTMLInputElement>("main [data-filter]") ?? document.querySelector<HTMLInputElement>("[data-find]");
  field?.focus();
  field?.select();
  return field !== null;
}

function act(key: string): boolean {
  if (performance.now() < chordUntil) {
    chordUntil = 0;
    const place = kPlaces.find((one) => one.key === key);
    if (place !== undefined) go(place.to);
    return place !== undefined;
  }
  switch (key) {
    case "g": chordUntil = performance.now() + kChordTime; return true;
    case "j": step(1); return true;
    case "k": step(-1); return true;
    case "/": return filter();
    case "?": helpShown.value = true; return true;
    case "t": switchTheme(); return true;
    default: return false;
  }
}

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping(event.target)) return (event.target as HTMLElement).blur();
    if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
    if (act(event.key)) event.preventDefault();
  });
}
