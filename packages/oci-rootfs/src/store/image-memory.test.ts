import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { openStore } from "../transfer/open-store.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

const layer = tarball([file("run", "1")]);
const CHILD = join(import.meta.dirname, "../../testing/pull-many-in-child.ts");

/** Almost the largest image config. Parsed, it takes more than 60 MB. */
const MANY = Array.from({ length: 1_200_000 }, () => ({}));

test("many images with large configs fit into a small heap", async () => {
  const names = Array.from({ length: 6 }, (_, i) => {
    const config = { Entrypoint: ["/run"], Volumes: MANY, Hostname: `h${i}` };
    return writeLayout(join(box.dir, `layout${i}`), testImage([layer], { config }));
  });
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--max-old-space-size=220",
    CHILD,
    box.store,
    ...names,
  ]);
  expect(stdout).toBe("6\n");
});

test("an image has only the fields of its config that a function needs, also from an older store", async () => {
  const config = { Entrypoint: ["/run"], Env: ["A=1"], Labels: { a: "1" }, Volumes: { "/data": {} } };
  const name = writeLayout(join(box.dir, "layout"), testImage([layer], { config }));
  for (const store of [await openStore({ dir: box.store }), await openStore({ dir: box.store })]) {
    const image = await store.image(name);
    expect(image.config.config).toEqual({ Entrypoint: ["/run"], Env: ["A=1"], Labels: { a: "1" } });
    expect(Object.keys(image.config).sort()).toEqual(["architecture", "config", "os", "rootfs"]);
    // A released image is read again.
    store.release(image.digest);
    expect(await store.image(name)).toEqual(image);
  }
});
