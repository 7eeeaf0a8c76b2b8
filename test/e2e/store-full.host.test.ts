import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { openStore } from "@xfn/oci-rootfs";
import { beforeEach, expect, test } from "vitest";
import { testImage, writeLayout } from "../../packages/oci-rootfs/testing/layout.ts";
import { file, tarball } from "../../packages/oci-rootfs/testing/tarball.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// Prepares an image on a full disk, and in a process that has reached its limit of open files.

const CHILD = join(import.meta.dirname, "../../packages/oci-rootfs/testing/pull-in-need.ts");

let dir: string;
let name: string;
beforeEach(() => {
  dir = temporaryFolder();
  const layer = (i: number) => tarball([file(`small-${i}`, "1"), file(`large-${i}`, randomBytes(3 * 1024 * 1024))]);
  name = writeLayout(join(dir, "layout"), testImage([layer(0), layer(1), layer(2)]));
  mkdirSync(join(dir, "store"));
});

function run(script: string): { outcome: unknown; stderr: string } {
  const { stdout, stderr } = spawnSync("sh", ["-c", script, "sh", process.execPath, CHILD, join(dir, "store"), name], {
    encoding: "utf8",
    timeout: 60_000,
  });
  return { outcome: stdout === "" ? undefined : JSON.parse(stdout), stderr };
}

test.for([4, 8, 14])(
  "a full disk of %i MB: a typed error, no image entry and no temporary files",
  (megabytes, context) => {
    const mount = `mount -t tmpfs -o size=${megabytes}m,mode=700 tmpfs "$3"`;
    const { outcome, stderr } = run(`exec unshare -Urm sh -c '${mount} && exec "$1" "$2" "$3" "$4"' sh "$@"`);
    if (/unshare|mount/.test(stderr)) context.skip(`no tmpfs in user namespaces: ${stderr.slice(0, 200)}`);
    expect(outcome).toMatchObject({ code: "StoreFailed", left: { images: 0, tmp: 0 } });
    expect((outcome as { message: string }).message).toMatch(/ENOSPC/);
  },
);

test.each([24, 30])("a limit of %i open files: a typed error or success, and the next call succeeds", async (files) => {
  const { outcome, stderr } = run(`ulimit -n ${files} && exec "$1" "$2" "$3" "$4"`);
  if (outcome !== "none") {
    expect(outcome, stderr).toMatchObject({ code: "StoreFailed", left: { images: 0, tmp: 0 } });
    expect((outcome as { message: string }).message).toMatch(/EMFILE|thread/);
  }
  const store = await openStore({ dir: join(dir, "store") });
  expect((await store.image(name)).layers).toHaveLength(3);
});
