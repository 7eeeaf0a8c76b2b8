import { Metadata } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { readType, TYPE_KEY, writeType } from "./function-type.ts";

test.each([{ type: "Chroot" }, {}] as const)("the header carries the type: %j", (options) => {
  const metadata = new Metadata();
  writeType(metadata, options);
  expect(readType(metadata)).toEqual(options);
});

test("calls of containers have no header, so that other runners see nothing new", () => {
  const metadata = new Metadata();
  writeType(metadata, { type: "Container" });
  expect(metadata.getMap()).toEqual({});
});

test.each(["chroot", "Wasm", ""])("an unknown type is refused: %j", (type) => {
  const metadata = new Metadata();
  metadata.set(TYPE_KEY, type);
  expect(() => readType(metadata)).toThrow(expect.objectContaining({ code: "InvalidRequest" }));
});
