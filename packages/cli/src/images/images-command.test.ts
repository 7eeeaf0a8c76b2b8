import { HOST_BASES as NAMES_OF_BASES } from "@xfn/function-build";
import { buildImage } from "@xfn/oci-rootfs";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runXfn } from "../../testing/run-xfn.ts";
import { openImageStore } from "../store/open-store.ts";
import { imageTable, readableBytes } from "./image-table.ts";
import { HOST_BASES } from "./images-command.ts";

let dir: string;
let stdout: string;
let stderr: string;

beforeEach(async () => {
  dir = temporaryFolder();
  const store = await openImageStore(dir);
  for (const name of ["one", "two"]) {
    const entries = [{ path: `/${name}`, content: name.repeat(1000) }];
    await buildImage({ store, name, layers: [{ entries }], config: { entrypoint: ["/x"] } });
  }
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

test("leaves the bases of xfn build out of the table, but not out of JSON", async () => {
  expect(HOST_BASES).toBe(NAMES_OF_BASES);
  const store = await openImageStore(dir);
  await buildImage({
    store,
    name: `${HOST_BASES}node:1`,
    layers: [{ entries: [{ path: "/one", content: "one".repeat(1000) }] }],
    config: { entrypoint: ["/x"] },
  });
  expect(await xfn()).toBe(0);
  expect(stdout).not.toContain(HOST_BASES);
  expect(stderr).toMatch(/^2 images, and 1 base that xfn build made.*\(--all\); \d+.* in all\n$/);
  await xfn("--all");
  expect(stdout).toContain(`${HOST_BASES}node:1`);
  await xfn("-o", "json");
  const listed = JSON.parse(stdout) as { name: string; internal: boolean }[];
  expect(listed.map(({ name, internal }) => [name, internal])).toEqual([
    ["one:latest", false],
    ["two:latest", false],
    [`${HOST_BASES}node:1`, true],
  ]);
});

test("the fields of JSON are those of the help", async () => {
  await xfn("-o", "json");
  const [first] = JSON.parse(stdout) as object[];
  const fields = Object.keys(first ?? {});
  expect(fields).toEqual(["name", "digest", "built", "platforms", "bytes", "lastUsed", "inUse", "internal"]);
  await xfn("--help");
  for (const field of fields) expect(stdout).toContain(field);
});

test("the size of the store counts a layer that images share once", async () => {
  const totalOf = (): number => Number(/; ([\d.]+) KiB in all/.exec(stderr)?.[1]);
  await xfn();
  const before = totalOf();
  const store = await openImageStore(dir);
  const layers = [{ entries: [{ path: "/large", content: "x".repeat(300_000) }] }];
  await buildImage({ store, name: "three", layers, config: { entrypoint: ["/x"] } });
  await xfn();
  const one = totalOf() - before;
  await buildImage({ store, name: "four", layers, config: { entrypoint: ["/y"] } });
  await xfn();
  expect(totalOf() - before - one).toBeLessThan(one);
});

test.each<[number | undefined, string]>([
  [undefined, "NAME DIGEST PLATFORM SIZE USED"],
  [80, "NAME DIGEST PLATFORM SIZE USED"],
  [60, "NAME DIGEST SIZE USED"],
  [50, "NAME SIZE USED"],
  [40, "NAME SIZE"],
  [10, "NAME SIZE"],
])("a terminal of %s columns gets whole names and the columns that fit", (width, head) => {
  const name = "quickstart/network-policy:v1";
  const image = {
    name,
    digest: `sha256:${"0123456789abcdef".repeat(4)}`,
    built: true,
    platforms: ["linux/amd64"],
    bytes: 16_478_331,
    lastUsed: new Date(),
    inUse: true,
  };
  const [first = "", row = ""] = imageTable([image], width).split("\n");
  expect(first.replaceAll(/ +/g, " ")).toBe(head);
  expect(row.startsWith(name)).toBe(true);
  if (width !== undefined && width >= 40) expect(row.length).toBeLessThanOrEqual(width);
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
