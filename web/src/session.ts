// Who we are for the daemon: the token, what it may do, whether the daemon answers.
import { computed, signal } from "@preact/signals";
import type { Scope, WhoAmI } from "./types.ts";

const kTokenName = "postrider.token";

export const token = signal(sessionStorage.getItem(kTokenName) ?? "");
export const who = signal<WhoAmI | undefined>(undefined);
export const tokenWanted = signal<string | undefined>(undefined); // why; undefined: it is not
export const unreachable = signal(false);

// Of this tab and until it is closed; never in a cookie, so nothing is sent that nobody asked for.
export function setToken(value: string): void {
  token.value = value;
  if (value === "") sessionStorage.removeItem(kTokenName);
  else sessionStorage.setItem(kTokenName, value);
}

export function may(scope: Scope): boolean {
  return who.value?.scopes.includes(scope) ?? false;
}
export const mayOperate = computed(() => may("operate"));
export const mayReceive = computed(() => may("receive"));
export const mayRead = computed(() => may("read"));
