// Fragments and what they mean. Pure.

export interface Route {
  parts: string[];
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  return {
    parts: path.split("/").filter((part) => part !== "").map(decoded),
    query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function link(parts: string[], query: Record<string, string | undefined> = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") words.set(name, value);
  }
  const text = words.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

// 32 hexadecimal digits, as /v1 shows them.
export function isMessageId(text: string): boolean {
  return /^[0-9a-f]{32}$/i.test(text);
}

export function isJobId(text: string): boolean {
  return /^[0-9a-f]{16}$/i.test(text);
}
