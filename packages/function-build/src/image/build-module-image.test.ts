import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { openStore, parsePlatform, type Store } from "@xfn/oci-rootfs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { buildFunction } from "./build-function.ts";
import type { BuildFunctionOptions } from "./build-options.ts";

// Compilers are scripts here: test/e2e/examples.long.test.ts and docs/get-started/first-function.md have the one of Go.

/** A command that does nothing: it exports a memory and `_start`. */
const COMMAND = Buffer.from(
  "0061736d010000000104016000000302010005030100010713" + "02066d656d6f72790200065f737461727400000a040102000b",
  "hex",
);
const WASM = { platform: parsePlatform("wasip1/wasm") };

let dir: string;
let store: Store;

beforeEach(async () => {
  dir = temporaryFolder();
  store = await openStore({ dir: join(dir, "store") });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const build = (path: string, more: Partial<BuildFunctionOptions> = {}): Promise<{ name: string; digest: string }> =>
  buildFunction({ path, name: `oci:${join(dir, "layout")}`, store, ...more });
const folder = (files: Readonly<Record<string, string | Buffer>>): string => {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, "fn", name)), { recursive: true });
    writeFileSync(join(dir, "fn", name), content);
  }
  return join(dir, "fn");
};
/** Puts a compiler on the PATH, before others. */
const compiler = (name: string, script: string): void => {
  const path = join(dir, "bin", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  vi.stubEnv("PATH", `${dirname(path)}${delimiter}${process.env["PATH"]}`);
};

describe("the image of a module", () => {
  test("has the CNCF's layout, and the same digest from the same module", async () => {
    const path = join(folder({ "fn.wasm": COMMAND }), "fn.wasm");
    const { digest } = await build(path, { annotations: { a: "b" } });
    const blob = (of: string): Buffer => readFileSync(join(dir, "layout/blobs", of.replace(":", "/")));
    const manifest = JSON.parse(blob(digest).toString()) as {
      config: { mediaType: string; digest: string };
      layers: { mediaType: string; digest: string }[];
      annotations: Record<string, string>;
    };
    expect(manifest.config.mediaType).toBe("application/vnd.wasm.config.v0+json");
    expect(JSON.parse(blob(manifest.config.digest).toString())).toMatchObject({ os: "wasip1", architecture: "wasm" });
    expect(manifest.layers.map(({ mediaType }) => mediaType)).toEqual(["application/wasm"]);
    expect(blob(manifest.layers[0]?.digest ?? "")).toEqual(COMMAND);
    expect(manifest.annotations).toMatchObject({ a: "b", "org.opencontainers.image.title": "fn" });
    expect((await build(path, { annotations: { a: "b" }, name: "other:v1" })).digest).toBe(digest);
  });

  test("is one that runs", async () => {
    const path = folder({ "fn.wasm": "#!/bin/sh\n" });
    await expect(build(join(path, "fn.wasm"))).rejects.toMatchObject({
      code: "Input",
      message: expect.stringContaining("it is not a WebAssembly module"),
    });
  });

  test.each<[what: string, options: Partial<BuildFunctionOptions>, way: RegExp]>([
    ["another platform", { targets: [{ platform: parsePlatform("linux/amd64") }] }, /wasip1\/wasm/],
    ["labels", { labels: { a: "b" } }, /--annotation/],
    ["an SBOM", { sbom: true }, /--sbom/],
  ])("has no %s", async (_, options, way) => {
    const path = join(folder({ "fn.wasm": COMMAND }), "fn.wasm");
    await expect(build(path, options)).rejects.toMatchObject({ code: "Input", message: expect.stringMatching(way) });
  });
});

describe("a folder with", () => {
  test("go.mod is compiled for WASI, with the toolchain of this machine", async () => {
    const shown = join(dir, "shown");
    writeFileSync(join(dir, "command.wasm"), COMMAND);
    compiler(
      "go",
      `echo "$GOOS $GOARCH $GOTOOLCHAIN" >'${shown}'; while [ "$1" != -o ]; do shift; done
cp '${join(dir, "command.wasm")}' "$2"`,
    );
    await build(folder({ "go.mod": "module a\n", "main.go": "package main\n" }));
    expect(readFileSync(shown, "utf8")).toBe("wasip1 wasm local\n");
  });

  test("go.mod and no compiler fails with the way out, and runs no program of the folder", async () => {
    const path = folder({ "go.mod": "module a\n", go: "#!/bin/sh\ntouch ran\n" });
    chmodSync(join(path, "go"), 0o755);
    vi.stubEnv("PATH", `.${delimiter}`);
    await expect(build(path, { targets: [WASM] })).rejects.toMatchObject({
      code: "Input",
      message: expect.stringMatching(/compiler is missing: install Go/),
    });
    expect(existsSync(join(path, "ran"))).toBe(false);
  });

  test("errors names them", async () => {
    compiler("go", 'echo "./main.go:3:1: syntax error" >&2; exit 1');
    await expect(build(folder({ "go.mod": "module a\n" }))).rejects.toMatchObject({
      details: ["./main.go:3:1: syntax error"],
    });
  });

  test("a Go library is refused", async () => {
    compiler("go", 'while [ "$1" != -o ]; do shift; done; echo "!<arch>" >"$2"');
    await expect(build(folder({ "go.mod": "module a\n" }))).rejects.toThrow(/package main/);
  });

  test.each([
    ["Cargo.toml", "Rust"],
    ["asconfig.json", "AssemblyScript"],
  ])("%s runs no compiler unless the platform is named", async (file, language) => {
    compiler("cargo", "touch ran");
    await expect(build(folder({ [file]: "{}", "node_modules/assemblyscript/bin/asc.js": "" }))).rejects.toThrow(
      new RegExp(`${language}.*--platform wasip1/wasm`),
    );
  });

  test("Cargo.toml has one program", async () => {
    writeFileSync(join(dir, "command.wasm"), COMMAND);
    const artifact = (path: string): string => JSON.stringify({ reason: "compiler-artifact", executable: path });
    const program = artifact(join(dir, "command.wasm"));
    compiler("cargo", `echo '{"reason":"compiler-artifact","executable":null}'; echo '${program}'`);
    await build(folder({ "Cargo.toml": "" }), { targets: [WASM] });
    compiler("cargo", `echo '${program}'; echo '${program}'`);
    await expect(build(folder({}), { targets: [WASM] })).rejects.toThrow(/has 2 programs/);
    for (const error of [
      "the `wasm32-wasip1` target may not be installed",
      'error: Error loading target specification: Could not find specification for target "wasm32-wasip1".',
    ]) {
      compiler("cargo", `echo '${error}' >&2; exit 101`);
      await expect(build(folder({}), { targets: [WASM] })).rejects.toThrow(
        /1\.78 or newer .*rustup target add wasm32-wasip1/,
      );
    }
  });

  test("asconfig.json is compiled by the folder's own compiler", async () => {
    const script = `require("node:fs").writeFileSync(process.argv.at(-1), Buffer.from("${COMMAND.toString("hex")}", "hex"))`;
    const path = folder({ "asconfig.json": "{}" });
    await expect(build(path, { targets: [WASM] })).rejects.toThrow(/npm install --save-dev assemblyscript/);
    await build(folder({ "node_modules/assemblyscript/bin/asc.js": script }), { targets: [WASM] });
  });
});
