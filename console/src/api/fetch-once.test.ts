import { expect, it } from "vitest";
import { fetchingOnce } from "./fetch-once";

const URL = "http://127.0.0.1/device";

function service() {
  const sent: string[] = [];
  const answers: ((response: Response) => void)[] = [];
  const fetch = fetchingOnce(
    (request) =>
      new Promise((resolve, reject) => {
        sent.push(request.method);
        answers.push(resolve);
        request.signal.addEventListener("abort", () => reject(request.signal.reason));
      }),
  );
  return { fetch, sent, answer: (at: number) => answers[at]?.(new Response(`answer ${at}`)) };
}

const write = (body: string, signal?: AbortSignal) => new Request(URL, { method: "POST", body, ...(signal ? { signal } : {}) });
const settled = () => new Promise((resolve) => setTimeout(resolve));

it("sends a write once while it is on its way, and again afterwards", async () => {
  const { fetch, sent, answer } = service();
  const both = [fetch(write("a")), fetch(write("a"))];
  await settled();
  answer(0);
  expect(await Promise.all((await Promise.all(both)).map((each) => each.text()))).toEqual(["answer 0", "answer 0"]);
  const later = fetch(write("a"));
  await settled();
  answer(1);
  expect(await (await later).text()).toBe("answer 1");
  expect(sent).toEqual(["POST", "POST"]);
});

it("keeps different writes and all reads apart", async () => {
  const { fetch, sent } = service();
  for (const request of [write("a"), write("b"), new Request(URL), new Request(URL)]) void fetch(request);
  await settled();
  expect(sent.sort()).toEqual(["GET", "GET", "POST", "POST"]);
});

it("goes on when only the first one is called off", async () => {
  const { fetch, sent, answer } = service();
  const stop = new AbortController();
  const first = fetch(write("a", stop.signal)).catch((error: Error) => error.name);
  const second = fetch(write("a"));
  await settled();
  stop.abort();
  expect(await first).toBe("AbortError");
  await settled();
  answer(1);
  expect(await (await second).text()).toBe("answer 1");
  expect(sent).toEqual(["POST", "POST"]);
});
