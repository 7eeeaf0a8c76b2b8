import { Metadata } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { readType, TYPE_KEY, writeType } from "./function-type.ts";

test.each([{ type: "Chroot" }, { type: "Wasm" }, {}] as const)("the header carries the type: %j", (options) => {
  const metadata = new Metadata();
  writeType(metadata, options);
  expect(readType(metadata)).toEqual(options);
});

test("calls without a type have no header, so that other runners see nothing new", () => {
  const metadata = new Metadata();
  writeType(metadata, {});
  expect(metadata.getMap()).toEqual({});
});

test.each(["chroot", "Container", ""])("an unknown type is refused: %j", (type) => {
  const metadata = new Metadata();
  metadata.set(TYPE_KEY, type);
  expect(() => readType(metadata)).toThrow(expect.objectContaining({ code: "InvalidRequest" }));
});
