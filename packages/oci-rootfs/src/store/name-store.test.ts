import { afterEach, beforeEach, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { nameStore } from "./name-store.ts";
import { openStoreDirectory } from "./store-directory.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

const digest = (index: number): string => `sha256:${String(index).padStart(64, "0")}`;

test("the names of a large store stay in memory, although all are used in turn", () => {
  const names = nameStore(openStoreDirectory(box.store));
  const all = Array.from({ length: 5_000 }, (_, index) => `registry.example.org/functions/function-${index}:v1.0.0`);
  for (const [index, name] of all.entries()) {
    const target = { mediaType: "application/vnd.oci.image.index.v1+json", digest: digest(index), size: 1_000 };
    names.put({ name, target, manifests: { "linux/amd64": digest(index + all.length) }, built: false });
  }
  const read = all.map((name) => names.get(name));
  expect(read.every((record, index) => record?.name === all[index])).toBe(true);
  // A record that was read again is another object.
  expect(all.every((name, index) => names.get(name) === read[index])).toBe(true);
});
