import { expect, test, vi } from "vitest";
import { SILENT } from "../../testing/run-xfn.ts";
import { ProductLine } from "./product-line.ts";

test("a reader that is stopped makes texts wait up to a bound, and learns how many are missing", async () => {
  const written: string[] = [];
  const notes: string[] = [];
  const { promise: continued, resolve: proceed } = Promise.withResolvers<void>();
  const line = new ProductLine({
    ...SILENT,
    product: async (text) => {
      await continued;
      written.push(String(text));
    },
    note: (text) => void notes.push(text),
  });
  for (let at = 0; at < 1_005; at++) line.print(`${at} `);
  proceed();
  await vi.waitFor(() => expect(notes).toEqual([expect.stringContaining("5 messages were not printed")]), 30_000);
  expect(written).toHaveLength(1_000);
  expect(written.slice(0, 3)).toEqual(["0 ", "1 ", "2 "]);
});

test("a failure of stdout rejects", async () => {
  const line = new ProductLine({ ...SILENT, product: () => Promise.reject(new Error("EPIPE")) });
  line.print("text");
  await expect(line.failure).rejects.toThrow("EPIPE");
});
