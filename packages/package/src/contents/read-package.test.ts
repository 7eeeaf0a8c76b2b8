import { join } from "node:path";
import { type BuildLayer, buildImage, openStore, type Store } from "@xfn/oci-rootfs";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { readPackage, readPackageStream } from "./read-package.ts";

let dir: string;
let store: Store;
let count = 0;

beforeAll(async () => {
  dir = temporaryFolder();
  store = await openStore({ dir: join(dir, "store") });
});

const META = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: mine}\n";

const layer = (content: string, isBase = false, path = "package.yaml"): BuildLayer => ({
  entries: [{ path, content }],
  ...(isBase && { annotations: { "io.crossplane.xpkg": "base" } }),
});

async function image(...layers: BuildLayer[]): Promise<{ from: string; digest: string }> {
  count += 1;
  const from = `oci:${join(dir, `layout-${count}`)}`;
  const { digest } = await buildImage({ store, name: from, layers, platform: { os: "", architecture: "" } });
  return { from, digest };
}

test("reads the layer that is annotated as the base, even below others", async () => {
  const { from, digest } = await image(layer("no"), layer(META, true), layer("neither"));
  expect(await readPackage({ from })).toMatchObject({ kind: "Function", name: "mine", digest });
  expect(Buffer.from((await readPackageStream({ from })).content).toString()).toBe(META);
});

test("reads the whole image if no layer is annotated", async () => {
  const { from } = await image(layer("no"), layer(META), layer("x", false, "other"));
  expect(await readPackage({ from })).toMatchObject({ name: "mine" });
});

test("an image without package.yaml is not a package", async () => {
  for (const isBase of [true, false]) {
    const { from } = await image(layer("x", isBase, "other"));
    await expect(readPackage({ from })).rejects.toMatchObject({ code: "NoPackageFile", package: from });
  }
});

test("two layers that are annotated as the base are refused", async () => {
  const { from } = await image(layer(META, true), layer(META, true));
  await expect(readPackage({ from })).rejects.toMatchObject({ code: "SeveralPackageFiles", package: from });
});

test("a package of another kind than asked for is refused", async () => {
  const { from } = await image(layer(META, true));
  await expect(readPackage({ from }, { kind: "Provider" })).rejects.toMatchObject({
    code: "WrongKind",
    message: `package ${from}: is a Function and not a Provider; install it as a Function, or name the package of a Provider`,
  });
});

test("a package.yaml of more than 64 MiB is refused", async () => {
  const { from } = await image(layer("#".repeat(64 * 1024 * 1024 + 1), true));
  await expect(readPackage({ from })).rejects.toMatchObject({ name: "ImageError", code: "TooLarge" });
});

test("errors of the image stay as they are", async () => {
  await expect(readPackage({ from: `oci:${join(dir, "absent")}` })).rejects.toMatchObject({ name: "ImageError" });
});
