// Groups of destinations: what members subscribe to. Pure; the daemon's rules in few words.
import type { FanoutMember } from "./types.ts";

// As somebody writes them: apart by commas or spaces, each once.
export function typesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((type) => type !== ""))];
}

export function wrongType(types: string[]): string | undefined {
  return types.find((type) => type !== "*" && (!/^[A-Za-z0-9._-]+(\*)?$/.test(type) || type.length > 128 || (type.endsWith("*") && !type.endsWith(".*"))));
}

// Whether a member gets messages of this type; "" is a message without one.
export function gets(member: FanoutMember, type: string): boolean {
  if (member.types.length === 0) return true;
  return type !== "" && member.types.some((one) => one === type || one === "*" || (one.endsWith(".*") && type.startsWith(one.slice(0, -1))));
}
