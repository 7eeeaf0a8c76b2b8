import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage } from "@xfn/oci-rootfs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runXfn } from "../../testing/run-xfn.ts";
import { openImageStore } from "../store/open-store.ts";
import { readableBytes } from "./images-command.ts";

let dir: string;
let stdout: string;
let stderr: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "xfn-images-"));
  const store = await openImageStore(dir);
  for (const name of ["one", "two"]) {
    const entries = [{ path: `/${name}`, content: name.repeat(1000) }];
    await buildImage({ store, name, layers: [{ entries }], config: { entrypoint: ["/x"] } });
  }
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

async function xfn(...args: string[]): Promise<number> {
  const finished = await runXfn(["images", ...args, "--cache-dir", dir]);
  ({ stdout, stderr } = finished);
  return finished.code;
}

test("lists images as a table and as JSON", async () => {
  expect(await xfn()).toBe(0);
  expect(stdout).toMatch(/^NAME +DIGEST +PLATFORM +SIZE +USED\none:latest +[0-9a-f]{12} .*\ntwo:latest /);
  expect(await xfn("-o", "json")).toBe(0);
  const listed = JSON.parse(stdout) as { name: string; bytes: number }[];
  expect(listed.map(({ name }) => name)).toEqual(["one:latest", "two:latest"]);
  expect(listed[0]?.bytes).toBeGreaterThan(0);
  expect(await xfn("-o", "yaml")).toBe(2);
});

test("rm removes images by name, and reports a missing one", async () => {
  expect(await xfn("rm", "one")).toBe(0);
  expect(stdout).toBe("one:latest\n");
  expect(stderr).toContain("freed");
  expect(await xfn("rm", "one")).toBe(1);
  expect(stderr).toContain("no image of this name\n`xfn images` lists the names\n");
  await xfn();
  expect(stdout).not.toContain("one:latest");
});

test("prune keeps images that were built here without --built; a dry run removes nothing", async () => {
  expect(await xfn("prune", "--max-size", "1")).toBe(0);
  expect(stdout).toBe("");
  expect(await xfn("prune", "--max-size", "1", "--built", "--dry-run")).toBe(0);
  expect(stdout).toBe("one:latest\ntwo:latest\n");
  expect(stderr).toContain("would be freed");
  expect(await xfn("prune", "--max-size", "1", "--built")).toBe(0);
  await xfn();
  expect(stdout).toBe("NAME  DIGEST  PLATFORM  SIZE  USED\n");
});

test("an invalid size or duration is wrong usage", async () => {
  expect(await xfn("prune", "--max-size", "much")).toBe(2);
  expect(await xfn("prune", "--older-than", "yesterday")).toBe(2);
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [96_468_992, "92 MiB"],
  [5 * 1024 ** 3, "5 GiB"],
])("%i bytes are %s", (bytes, text) => {
  expect(readableBytes(bytes)).toBe(text);
});
