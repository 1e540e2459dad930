// A list that the service hands out in pages.
import type { Call, Transport } from "./transport.js";

/** `for await` goes over all items, and requests the next page when it is needed. */
export class Pages<Item, Page> implements AsyncIterable<Item> {
  constructor(
    private readonly transport: Transport,
    private readonly call: Call,
    private readonly member: keyof Page,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    for await (const page of this.pages()) yield* page[this.member] as Item[];
  }

  async *pages(): AsyncGenerator<Page, void, void> {
    let nextToken: string | undefined;
    do {
      const query = nextToken === undefined ? this.call.query : { ...this.call.query, nextToken };
      const page = await this.transport.request<Awaited<Page>>({ ...this.call, query: query ?? {} });
      yield page;
      nextToken = (page as { nextToken?: string }).nextToken;
    } while (nextToken);
  }

  async firstPage(): Promise<Page> {
    return this.transport.request<Page>(this.call);
  }

  async all(): Promise<Item[]> {
    const found: Item[] = [];
    for await (const item of this) found.push(item);
    return found;
  }
}
