import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildIndex, openStore, parsePlatform, readImageFile, readImageManifest, type Store } from "@xfn/oci-rootfs";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { elfFile } from "../../testing/elf-file.ts";
import { buildFunction } from "./build-function.ts";
import type { FunctionTarget } from "./build-options.ts";

let dir: string;
let store: Store;
/** The store of tests that need Node in a base: to pack it takes seconds. */
const nodeStore = temporaryFolder();

beforeEach(async () => {
  dir = temporaryFolder();
  store = await openStore({ dir: join(dir, "store") });
});

function staticFunction(parent: string): string {
  const path = join(dir, parent, "my-function");
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "function"), elfFile({}));
  chmodSync(join(path, "function"), 0o755);
  writeFileSync(join(path, "data.json"), "{}");
  return path;
}

interface Manifest {
  readonly layers: readonly { readonly digest: string; readonly annotations?: Record<string, string> }[];
}

// The layout is read as the OCI specification says, without our own code.
async function buildLayout(path: string): Promise<{ manifest: Manifest; digest: string }> {
  const layout = join(dir, "layout");
  const { digest } = await buildFunction({ path, name: `oci:${layout}`, store });
  const blob = join(layout, "blobs", digest.replace(":", "/"));
  return { digest, manifest: JSON.parse(readFileSync(blob, "utf8")) as Manifest };
}

// Only files of a Linux machine run in a container.
describe.runIf(process.platform === "linux")("an image of a folder", () => {
  test("has the same digest from another folder, in another store, from another working directory", async () => {
    const first = await buildFunction({ path: staticFunction("a"), name: "f:v1", store });
    const elsewhere = await openStore({ dir: join(dir, "other-store") });
    const before = process.cwd;
    process.cwd = () => "/";
    try {
      const second = await buildFunction({ path: staticFunction("b/c"), name: "f:v2", store: elsewhere });
      expect(second.digest).toBe(first.digest);
    } finally {
      process.cwd = before;
    }
  });

  test.each([
    ["reads a FunctionIO", "print(io)", "v1alpha1"],
    ["serves gRPC", "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction", "v1"],
  ])("that %s has metadata of the version that Crossplane accepts for it", async (_, content, version) => {
    const path = staticFunction("a");
    writeFileSync(join(path, "module.py"), content);
    await buildFunction({ path, name: "f", store });
    const { layers } = await store.image("f", { pullPolicy: "Never" });
    expect(readImageFile(layers, "package.yaml", 1_000)?.toString()).toContain(
      `apiVersion: meta.pkg.crossplane.io/${version}\n`,
    );
  });

  test("has another digest if the content of a file or its executable bit changes", async () => {
    const path = staticFunction("a");
    const build = async (): Promise<string> => (await buildFunction({ path, name: "f", store })).digest;
    const digests = [await build()];
    writeFileSync(join(path, "data.json"), "[]");
    digests.push(await build());
    chmodSync(join(path, "data.json"), 0o755);
    digests.push(await build());
    expect(new Set(digests).size).toBe(3);
  });

  test("has package.yaml at its root, in the layer that the xpkg format defines", async () => {
    const { manifest } = await buildLayout(staticFunction("a"));
    expect(manifest.layers.at(-1)?.annotations).toEqual({ "io.crossplane.xpkg": "base" });
    await buildFunction({ path: staticFunction("a"), name: "f", store });
    const { layers, config } = await store.image("f");
    const metadata = readFileSync(join(layers.at(-1) ?? "", "package.yaml"), "utf8");
    expect(metadata).toContain("name: my-function");
    expect(config.config).toMatchObject({ Entrypoint: ["/function/function"], WorkingDir: "/function" });
  });

  test("of a static program has a base with only a writable folder and names for ids", async () => {
    await buildFunction({ path: staticFunction("a"), name: "f", store });
    const { layers } = await store.image("f");
    expect(readFileSync(join(layers[0] ?? "", "etc/passwd"), "utf8")).toMatch(/^root:.*\nnobody:/);
  });

  test("packs its base once, and then takes it from the store", async () => {
    const notes: string[] = [];
    const onNote = (message: string): void => void notes.push(message);
    const path = staticFunction("a");
    await buildFunction({ path, name: "f", store, onNote });
    await buildFunction({ path, name: "f", store, onNote });
    expect(notes.filter((note) => note.includes("base"))).toHaveLength(1);
  });

  test("has the given base, with its environment", async () => {
    await buildFunction({ path: staticFunction("a"), name: "base", store });
    const base = await store.image("base");
    await buildFunction({ path: staticFunction("b"), name: "f", store, targets: [{ base }] });
    const image = await store.image("f");
    expect(image.layers.slice(0, base.layers.length)).toEqual(base.layers);
    expect(image.config.config?.Env).toEqual(base.config.config?.Env);
  });

  test("of a shell script has the shell of its first line, and the tools of POSIX", async () => {
    const path = join(dir, "script");
    mkdirSync(path);
    writeFileSync(join(path, "run.sh"), "#!/bin/sh\ncat\n");
    chmodSync(join(path, "run.sh"), 0o755);
    await buildFunction({ path, name: "f", store });
    const { layers } = await store.image("f");
    const root = layers[0] ?? "";
    expect(readFileSync(join(root, "bin/sh")).subarray(0, 4).toString("latin1")).toBe("\x7fELF");
    for (const tool of ["sed", "cat", "tr"]) expect(() => readFileSync(join(root, "usr/bin", tool))).not.toThrow();
  });

  test("of a script with an unsupported interpreter is refused, and the message says what to do", async () => {
    const path = join(dir, "script");
    mkdirSync(path);
    writeFileSync(join(path, "run"), "#!/usr/bin/perl\n");
    chmodSync(join(path, "run"), 0o755);
    await expect(buildFunction({ path, name: "f", store })).rejects.toMatchObject({
      code: "Input",
      message: expect.stringContaining("--base"),
    });
  });

  test("of a function keeps base, dependencies and metadata if its code changes", async () => {
    store = await openStore({ dir: nodeStore });
    const path = join(dir, "typescript");
    mkdirSync(path);
    const write = (text: string): void =>
      writeFileSync(
        join(path, "function.ts"),
        `import { compose } from "@xfn/functionio/sdk";\nexport default compose(({ results }) => results.normal("${text}"));\n`,
      );
    write("one");
    const first = await buildLayout(path);
    write("another");
    const second = await buildLayout(path);
    const digests = ({ manifest }: typeof first): string[] => manifest.layers.map(({ digest }) => digest);
    const changed = digests(second).filter((digest) => !digests(first).includes(digest));
    expect(digests(second)).toHaveLength(4);
    expect(changed).toEqual([digests(second)[2]]);
  });

  test("has labels and annotations from its folder and from the options", async () => {
    const labels = { team: "a" };
    const annotations = { "org.opencontainers.image.title": "Mine" };
    await buildFunction({ path: staticFunction("a"), name: "f", store, labels, annotations });
    const image = await store.image("f");
    expect(image.config.config?.Labels).toEqual({ "org.opencontainers.image.title": "my-function", team: "a" });
    expect(readImageManifest(store, image).annotations).toEqual(annotations);
  });

  test("of a static program can be for another platform, that of the program", async () => {
    const path = staticFunction("a");
    const [mine, other] = process.arch === "x64" ? ["amd64", "arm64"] : ["arm64", "amd64"];
    writeFileSync(join(path, "function"), elfFile({ machine: other === "arm64" ? 183 : 62 }));
    const build = (platform: string): Promise<unknown> =>
      buildFunction({ path, name: "f", store, targets: [{ platform: parsePlatform(`linux/${platform}`) }] });
    await build(other ?? "");
    const platform = parsePlatform(`linux/${other}`);
    expect((await store.image("f", { platform })).config.architecture).toBe(other);
    await expect(build(mine ?? "")).rejects.toMatchObject({ code: "Input" });
  });

  test("of a script for another platform needs a base of that platform", async () => {
    const path = join(dir, "script");
    mkdirSync(path);
    writeFileSync(join(path, "run"), "#!/bin/sh\ncat\n");
    chmodSync(join(path, "run"), 0o755);
    const platforms = ["linux/amd64", "linux/arm64"].map(parsePlatform);
    const without = buildFunction({ path, name: "f", store, targets: platforms.map((platform) => ({ platform })) });
    await expect(without).rejects.toMatchObject({ code: "Input", message: expect.stringContaining("--base") });
    const layers = [{ entries: [{ path: "bin/sh", content: "shell" }] }];
    await buildIndex({ store, name: "shells", images: platforms.map((platform) => ({ platform, layers })) });
    const targets: FunctionTarget[] = [];
    for (const platform of platforms) targets.push({ platform, base: await store.image("shells", { platform }) });
    const { digest } = await buildFunction({ path, name: "f", store, targets });
    for (const platform of platforms) {
      const image = await store.image("f", { platform });
      expect(image.digest).not.toBe(digest);
      expect(image.config).toMatchObject(platform);
      expect(readImageFile(image.layers, "/function/run", 100)?.toString()).toBe("#!/bin/sh\ncat\n");
    }
  });

  test("has an SBOM on request", async () => {
    store = await openStore({ dir: nodeStore });
    const path = join(dir, "typescript");
    mkdirSync(path);
    writeFileSync(
      join(path, "function.ts"),
      'import { compose } from "@xfn/functionio/sdk";\nexport default compose(() => {});\n',
    );
    const names = async (sbom: boolean): Promise<string | undefined> => {
      await buildFunction({ path, name: "f", store, sbom });
      return readImageFile((await store.image("f")).layers, "/sbom.spdx.json", 100_000)?.toString();
    };
    expect(await names(true)).toContain('"pkg:npm/%40xfn/functionio@');
    expect(await names(false)).toBeUndefined();
    const program = buildFunction({ path: staticFunction("a"), name: "f", store, sbom: true });
    await expect(program).rejects.toMatchObject({ code: "Input" });
  });
});
