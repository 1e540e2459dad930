// Server-Sent Events out of the chunks of a response.
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

export class EventParser {
  // The id of the last event, which the service needs to go on behind it.
  lastId: string | null = null;
  private rest = "";

  // The events that a chunk completes.
  push(chunk: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.rest + chunk;
    let from = 0;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n", from)) {
      const event = this.parse(text.slice(from, end));
      if (event) events.push(event);
      from = end + 2;
    }
    this.rest = text.slice(from);
    return events;
  }

  // What is left of a broken connection belongs to no event of the next one.
  restart(): void {
    this.rest = "";
  }

  private parse(block: string): ServerEvent | null {
    let name = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon <= 0) continue;
      const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      const field = line.slice(0, colon);
      if (field === "event") name = value;
      else if (field === "data") data.push(value);
      else if (field === "id") this.lastId = value;
    }
    return data.length > 0 ? { name, data: data.join("\n") } : null;
  }
}
