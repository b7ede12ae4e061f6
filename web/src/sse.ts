// Server-sent events, read from pieces of text. EventSource cannot send a token, so we read by hand. Pure.

export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

const kPendingMax = 1_000_000; // characters of an event that never ends

export class EventParser {
  private pending = "";
  private id = "";

  get lastId(): string {
    return this.id;
  }

  // A new connection: what the old one left half said is said again.
  begin(): void {
    this.pending = "";
  }

  // The events that `piece` completes.
  push(piece: string): ServerEvent[] {
    this.pending += piece.replace(/\r\n?/g, "\n");
    if (this.pending.length > kPendingMax) this.pending = "";
    const events: ServerEvent[] = [];
    for (;;) {
      const end = this.pending.indexOf("\n\n");
      if (end < 0) return events;
      const block = this.pending.slice(0, end);
      this.pending = this.pending.slice(end + 2);
      const event = this.read(block);
      if (event !== undefined) events.push(event);
    }
  }

  private read(block: string): ServerEvent | undefined {
    let kind = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon === 0) continue; // a comment
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "id") this.id = value;
      if (name === "event") kind = value;
      if (name === "data") data.push(value);
    }
    return data.length === 0 ? undefined : { id: this.id, event: kind, data: data.join("\n") };
  }
}
