import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { HttpResponse } from "../transport/transport.ts";
import { readBody } from "./read-body.ts";
import { readWatch } from "./watch.ts";

const MIB = 1024 * 1024;

/** A response with many bytes and no end of line, and the number of chunks that were read. */
function endless(chunks: number): { response: HttpResponse; read: () => number } {
  let read = 0;
  const body = new Readable({
    highWaterMark: MIB,
    read() {
      this.push(read++ < chunks ? Buffer.alloc(MIB, "x") : null);
    },
  });
  return { response: { status: 200, header: () => undefined, body, cancel: () => body.destroy() }, read: () => read };
}

test("a body is read up to its limit", async () => {
  const { response, read } = endless(1_000);
  await expect(readBody("list x", response, 10_000, 4 * MIB)).rejects.toMatchObject({ code: "Invalid" });
  expect(read()).toBeLessThan(10);
  expect((await readBody("list x", endless(4).response, 10_000, 4 * MIB)).length).toBe(4 * MIB);
});

test("an event is read up to its limit", async () => {
  const { response, read } = endless(1_000);
  const watch = async (): Promise<void> => {
    for await (const _ of readWatch("watch x", response, 10_000, undefined, 4 * MIB));
  };
  await expect(watch()).rejects.toMatchObject({ code: "ServerError" });
  expect(read()).toBeLessThan(10);
});

test("a body that does not end is a Timeout", async () => {
  const body = new Readable({ read: () => undefined });
  const response = { status: 200, header: () => undefined, body, cancel: () => body.destroy() };
  await expect(readBody("get x", response, 20)).rejects.toMatchObject({ code: "Timeout" });
});
