import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { type Lease, Leases } from "./leases.ts";

/** Preparations of a busy runner, each of which acquires and releases a lease: far more than a file may list. */
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

/** The leases that other processes see. */
const seen = (): string[] => new Leases(box.store).collect((inUse) => [...inUse].sort());
const file = (): string => join(folder, readdirSync(folder)[0] as string);

/** Makes writes fail, even for root. */
function breakFolder(): void {
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
}

test("the file of a process that always has leases stays below a few thousand lines", () => {
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

test("adding to many leases does not rewrite the file each time", () => {
  const leases = new Leases(box.store);
  leases.acquire(...Array.from({ length: PREPARATIONS }, (_, count): Lease => `layer ${count}`));
  const before = statSync(file()).ino;
  leases.acquire("image kept");
  expect(statSync(file()).ino).toBe(before);
  expect(seen()).toHaveLength(PREPARATIONS + 1);
});

test("a collector that reads during a rewrite sees all leases", () => {
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

test("all leases are written again after the directory was removed", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a");
  rmSync(folder, { recursive: true });
  leases.acquire("image b");
  expect(seen()).toEqual(["image a", "image b"]);
  rmSync(file());
  leases.release("image b");
  expect(seen()).toEqual(["image a"]);
});

test("a release does not recreate a removed store", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a");
  rmSync(box.store, { recursive: true });
  leases.release("image a");
  expect(existsSync(box.store)).toBe(false);
});

test("a lease that could not be written does not count as acquired", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a");
  breakFolder();
  expect(() => leases.acquire("image b")).toThrow("ENOTDIR");
  rmSync(folder);
  leases.acquire("image b");
  expect(seen()).toEqual(["image a", "image b"]);
});

test("a release that could not be written is written with the next change", () => {
  const leases = new Leases(box.store);
  leases.acquire("image a", "image b");
  breakFolder();
  expect(() => leases.release("image a")).toThrow("ENOTDIR");
  rmSync(folder);
  leases.release("image a");
  expect(seen()).toEqual(["image b"]);
});
