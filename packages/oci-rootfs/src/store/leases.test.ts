import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { type Lease, Leases } from "./leases.ts";

/** Preparations of a busy runner, each of which holds something and releases it: far more than one file is to list. */
const PREPARATIONS = 20_000;
const MAX_FILE_BYTES = 256 * 1024;

let box: Sandbox;
let folder: string;
beforeEach(() => {
  box = sandbox();
  folder = join(box.store, "leases");
});
afterEach(() => {
  box[Symbol.dispose]();
});

/** What other processes see. */
const seen = (): string[] => new Leases(box.store).collect((inUse) => [...inUse].sort());
const file = (): string => join(folder, readdirSync(folder)[0] as string);

/** Nobody can write there any more, not even root. */
function breakFolder(): void {
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
}

test("of a process that always holds something, no more is written down than a few thousand lines", () => {
  const leases = new Leases(box.store);
  leases.acquire("image kept");
  for (let count = 0; count < PREPARATIONS; count++) {
    leases.acquire(`layer ${count}`);
    leases.release(`layer ${count}`);
  }
  leases.acquire("layer last");
  expect(statSync(file()).size).toBeLessThan(MAX_FILE_BYTES);
  expect(seen()).toEqual(["image kept", "layer last"]);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(box.leftovers()).toEqual([]);
});

test("many leases at once are not written again with each that is added", () => {
  const leases = new Leases(box.store);
  leases.acquire(...Array.from({ length: PREPARATIONS }, (_, count): Lease => `layer ${count}`));
  const before = statSync(file()).ino;
  leases.acquire("image kept");
  expect(statSync(file()).ino).toBe(before);
  expect(seen()).toHaveLength(PREPARATIONS + 1);
});

test("a collector that was reading when the file was written anew sees what was held", () => {
  const leases = new Leases(box.store);
  leases.acquire("image kept");
  const before = statSync(file()).ino;
  const reading = openSync(file(), "r");
  try {
    for (let count = 0; statSync(file()).ino === before && count < PREPARATIONS; count++) {
      leases.acquire(`layer ${count}`);
      leases.release(`layer ${count}`);
    }
    expect(statSync(file()).ino).not.toBe(before);
    expect(readFileSync(reading, "utf8")).toContain("image kept\n");
    expect(readFileSync(file(), "utf8")).toContain("image kept\n");
  } finally {
    closeSync(reading);
  }
});

test("all that is held is written down again where somebody has removed the folder", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a");
  rmSync(folder, { recursive: true });
  leases.acquire("image b");
  expect(seen()).toEqual(["image a", "image b"]);
  rmSync(file());
  leases.release("image b");
  expect(seen()).toEqual(["image a"]);
});

test("a store that was removed does not come back with what is released", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a");
  rmSync(box.store, { recursive: true });
  leases.release("image a");
  expect(existsSync(box.store)).toBe(false);
});

test("what could not be written down is not taken for held", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a");
  breakFolder();
  expect(() => leases.acquire("image b")).toThrow("ENOTDIR");
  rmSync(folder);
  leases.acquire("image b");
  expect(seen()).toEqual(["image a", "image b"]);
});

test("a release that could not be written down is written down with the next", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a", "image b");
  breakFolder();
  expect(() => leases.release("image a")).toThrow("ENOTDIR");
  rmSync(folder);
  leases.release("image a");
  expect(seen()).toEqual(["image b"]);
});
