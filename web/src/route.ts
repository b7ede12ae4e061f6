// Addresses are fragments: the daemon serves one page, and a reload stays where it was.
import { computed, signal } from "@preact/signals";
import { parseRoute } from "./paths.ts";

export const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed(() => parseRoute(hash.value));

export function go(to: string): void {
  location.hash = to;
}
