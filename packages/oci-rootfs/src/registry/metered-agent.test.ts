import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buildConnector, request } from "undici";
import { expect, test } from "vitest";
import { meteredAgent } from "./metered-agent.ts";

const SIZE = 32 * 1024 * 1024;

test("content with a slow reader is charged before it is refunded, so that its server does not exceed the limit", async () => {
  const server = createServer((_, response) => void response.end(Buffer.alloc(SIZE))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dispatcher = meteredAgent({}, buildConnector({}));
  const { body } = await request(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { dispatcher });
  let read = 0;
  for await (const chunk of body) {
    read += (chunk as Buffer).length;
    // The connection fills while a disk, say, takes what was read.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(read).toBe(SIZE);
  await dispatcher.close();
  server.close();
});
