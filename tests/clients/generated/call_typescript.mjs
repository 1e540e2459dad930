// Sends every request of calls.json with the client that hey-api has generated, compiled to JavaScript.
//
//     node call_typescript.mjs CLIENT CALLS URL TOKEN
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [, , folder, calls, baseUrl, token] = process.argv;
const sdk = await import(pathToFileURL(`${folder}/sdk.gen.js`).href);
const { client } = await import(pathToFileURL(`${folder}/client.gen.js`).href);
client.setConfig({ baseUrl, auth: (scheme) => (scheme.scheme === "bearer" ? token : undefined) });
for (const call of JSON.parse(await readFile(calls, "utf8"))) {
  const { data, error, response } = await sdk[call.operation]({ query: call.query });
  if (error !== undefined || response.status !== 200 || data === undefined)
    throw new Error(`${call.operation}: ${response?.status} ${JSON.stringify(error)}`);
  console.log(call.operation);
}
