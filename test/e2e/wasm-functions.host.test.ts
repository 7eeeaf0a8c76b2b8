import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openStore, readImageManifest } from "@xfn/oci-rootfs";
import type { RunOptions } from "@xfn/runner";
import { createRunner, type Runner } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { clientOf, startRunnerServer } from "../harness/runner-server.ts";
import {
  call,
  constant,
  ECHO,
  echoModule,
  forever,
  grow,
  print,
  READ,
  store,
  TRAP,
  wasmModule,
} from "../harness/wasm-modules.ts";
import { Workspace } from "../harness/workspace.ts";

// Functions that are WebAssembly modules, without an OCI runtime.
let workspace: Workspace;
let runner: Runner;
const INPUT = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO"}';

beforeAll(async () => {
  workspace = await Workspace.create({});
  runner = createRunner({
    store: await openStore({ dir: join(workspace.root, "store") }),
    ociRuntime: "/nowhere/crun",
    maxOutputBytes: 64 * 1024,
  });
});
afterAll(async () => {
  await runner?.close();
  await workspace?.[Symbol.asyncDispose]();
});

test("runs the CNCF's layout, the layout of wasm-to-oci, and an image with the module as entrypoint", async () => {
  const layouts = [layout(echoModule()), layout(echoModule(), { wasmToOci: true }), await ordinaryImage(echoModule())];
  for (const image of layouts) expect(await run(image)).toBe(INPUT);
});

test("each call has a fresh instance", async () => {
  // Prints the byte at address 2048, which the input then overwrites.
  const start = [...store(0, constant(2048)), ...store(4, constant(1)), ...call("fd_write", 1, 0, 1, 8), ...READ];
  const image = layout(wasmModule({ start, pages: 20 }));
  for (let round = 0; round < 3; round++) expect(await run(image)).toBe("\0");
});

test("the memory of each call is as small and as empty as that of the first one, even if it grew", async () => {
  const size = [0x3f, 0x00];
  const far = 40 * 65_536;
  const load = [...constant(far), 0x28, 0x02, 0x00];
  // Prints its pages, grows, prints the far byte, and then writes to it.
  const start = [
    ...store(1024, size),
    ...print(1, 1),
    ...grow(30),
    ...store(1024, load),
    ...print(1, 1),
    ...store(far, constant(7)),
    ...READ,
  ];
  // The process prepares the memory of a module with much data.
  const segments = [{ address: 65_536, content: "x".repeat(300_000) }];
  const image = layout(wasmModule({ start, pages: 20, segments }));
  for (let round = 0; round < 4; round++) expect(await run(image)).toBe("\u0014\0");
});

test("a function that does not read its input returns its output", async () => {
  expect(await run(layout(wasmModule({ start: print(1, 4), data: "fine" })))).toBe("fine");
});

test("a module with 100,000 data segments", async () => {
  const word = Array.from("fine", (content, index) => ({ address: 1024 + index, content }));
  const far = Array.from({ length: 99_996 }, (_, index) => ({ address: 4096 + 10 * index, content: "x" }));
  const segments = [...far, ...word];
  expect(await run(layout(wasmModule({ start: print(1, 4), segments, pages: 20 })))).toBe("fine");
});

test("the process of a module has no rights", async () => {
  await run(layout(echoModule()));
  const children = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && isModuleProcess(pid));
  expect(children).not.toEqual([]);
  for (const pid of children) {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    expect(status).toContain("NoNewPrivs:\t1");
    expect(status).toContain("Seccomp:\t2");
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toBe("");
    const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
    expect(limits).toMatch(/Max file size +0 +0/);
    const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    // The others are Node's own pipes and event queues, for instance.
    expect(targets.filter((target) => target.startsWith("/") && target !== "/dev/null")).toEqual([]);
  }
});

test("a module and an archive of the same bytes are unpacked apart", async () => {
  const dir = join(workspace.root, "apart");
  const store = await openStore({ dir });
  const archive = await ordinaryImage(echoModule());
  const image = await store.image(archive);
  const { layers: before } = image;
  const [layer] = readImageManifest(store, image).layers;
  const blob = layer?.digest.replace(":", "/") ?? "";
  const bytes = readFileSync(join(archive.slice("oci:".length), "blobs", blob));
  const { layers } = await store.image(layout(gunzipSync(bytes)));
  expect(layers).toHaveLength(1);
  expect(before).not.toEqual(layers);
  expect(readdirSync(layers[0] ?? "")).toEqual(["module.wasm"]);
  expect(readdirSync(before[0] ?? "")).toEqual(["fn.wasm"]);
});

describe("refuses", () => {
  test.each([
    ["no module", Buffer.from("#!/bin/sh\n"), /not a WebAssembly module/],
    ["a component", Buffer.from("\0asm\x0d\0\x01\0", "latin1"), /wasip1/],
    ["half a module", echoModule().subarray(0, 60), /V8 refuses it/],
    ["a module of 100 MB", wasmModule({ start: ECHO, padding: 100_000_000 }), /without debug information/],
    [
      "imports of others",
      wasmModule({ start: TRAP, imports: [{ module: "env", name: "system", type: "i-" }] }),
      /env\.system/,
    ],
    ["an unknown import of WASI", wasmModule({ start: TRAP, imports: [{ name: "fd_mmap", type: "i-" }] }), /fd_mmap/],
    ["a library", wasmModule({}), /_start/],
    ["several memories", wasmModule({ start: TRAP, memories: 1000 }), /1000 memories/],
    ["many tables", wasmModule({ start: TRAP, tables: Array.from({ length: 1000 }, () => 1) }), /1000 tables/],
    [
      "more data segments than V8 accepts",
      wasmModule({ start: TRAP, segments: Array.from({ length: 100_001 }, () => ({ address: 0, content: "" })) }),
      /segments/,
    ],
    ["a large table", wasmModule({ start: TRAP, tables: [9_000_000] }), /table size/],
  ])("%s", async (_, module, message) => {
    await expect(run(layout(module))).rejects.toMatchObject({
      code: "ImageInvalid",
      message: expect.stringMatching(message),
    });
  });

  test("arguments of an entrypoint, and an entrypoint that is missing", async () => {
    await expect(run(await ordinaryImage(echoModule(), ["/fn.wasm", "-v"]))).rejects.toMatchObject({
      code: "ImageInvalid",
    });
    await expect(run(await ordinaryImage(echoModule(), ["/other.wasm"]))).rejects.toMatchObject({
      code: "ImageInvalid",
    });
  });

  test("a program where a module is wanted, and reports the missing runtime elsewhere", async () => {
    const image = await ordinaryImage(Buffer.from("#!/bin/sh\n"), ["/program"]);
    await expect(run(image, { type: "Wasm" })).rejects.toMatchObject({ code: "ImageInvalid" });
    await expect(run(image)).rejects.toMatchObject({ code: "RuntimeMissing" });
  });

  test("limits that nothing enforces", async () => {
    const image = layout(echoModule());
    await expect(run(image, { cpus: 0.5 })).rejects.toMatchObject({ code: "LimitUnavailable" });
    await expect(run(image, { memoryBytes: 1000 })).rejects.toMatchObject({ code: "LimitUnavailable" });
  });

  test("a layer of a module below another layer", async () => {
    await expect(run(layout(echoModule(), { twice: true }))).rejects.toMatchObject({ code: "PullFailed" });
  });
});

describe("ends", () => {
  test.each([
    ["a loop before its input", { start: forever() }, "Timeout"],
    ["a loop after its input", { start: [...READ, ...forever()], pages: 20 }, "Timeout"],
    ["endless logs", { start: forever(...print(2, 4)), data: "log\n" }, "Timeout"],
    ["endless output", { start: forever(...print(1, 4)), data: "more" }, "OutputTooLarge"],
    ["a trap", { start: TRAP }, "NonZeroExit"],
    ["a data segment at a huge address", { start: ECHO, segments: [{ address: -8, content: "x" }] }, "NonZeroExit"],
    [
      "a data segment over the end of the memory",
      { start: ECHO, segments: [{ address: 65_534, content: "xxx" }] },
      "NonZeroExit",
    ],
    ["a stack without end", { start: call("self") }, "NonZeroExit"],
    ["memory without end", { start: [...Array.from({ length: 8 }, () => grow(63)).flat(), ...TRAP] }, "OutOfMemory"],
    ["more memory than its limit at the start", { start: ECHO, pages: 20_000 }, "OutOfMemory"],
    [
      "much data, and more memory than its limit",
      { start: ECHO, pages: 20_000, segments: [{ address: 65_536, content: "x".repeat(300_000) }] },
      "OutOfMemory",
    ],
    ["pointers outside the memory", { start: [...call("fd_write", 1, -8, 1, 8), ...TRAP] }, "NonZeroExit"],
  ])("%s", async (_, parts, code) => {
    const options = { timeoutMs: code === "Timeout" ? 300 : 30_000, memoryBytes: 32 * 1024 * 1024 };
    await expect(run(layout(wasmModule(parts)), options)).rejects.toMatchObject({ code });
    expect(await run(layout(echoModule()))).toBe(INPUT);
  });

  test("an exit with a code, with what the function wrote to stderr", async () => {
    let tail = "";
    const image = layout(wasmModule({ start: [...print(2, 4), ...call("proc_exit", 3)], data: "oops" }));
    const onStderr = (text: string): void => void (tail = text);
    await expect(run(image, { onStderr })).rejects.toMatchObject({ code: "NonZeroExit", exitCode: 3, stderr: "oops" });
    expect(tail).toBe("oops");
  });

  test("a call at its timeout, with what the function wrote to stderr until then", async () => {
    let tail = "";
    const onStderr = (text: string): void => void (tail = text);
    // The first instance writes before its input, and the second one starts before its call.
    const waits = [...print(2, 4), ...READ, ...print(2, 4)];
    const slow = layout(wasmModule({ start: [...waits, ...forever()], data: "log\n", pages: 20 }));
    await expect(run(slow, { timeoutMs: 300, onStderr })).rejects.toMatchObject({
      code: "Timeout",
      stderr: "log\nlog\n",
    });
    expect(tail).toBe("log\nlog\n");
    const image = layout(wasmModule({ start: waits, data: "log\n", pages: 20 }));
    for (let round = 0; round < 3; round++) {
      await run(image, { onStderr });
      expect(tail).toBe("log\nlog\n");
    }
  });

  test("a call that is cancelled", async () => {
    const stop = new AbortController();
    const called = run(layout(wasmModule({ start: forever() })), { signal: stop.signal, onPhase: () => stop.abort() });
    await expect(called).rejects.toMatchObject({ code: "Aborted" });
  });
});

test("calls at once wait for a process", async () => {
  const image = layout(echoModule());
  expect(await Promise.all(Array.from({ length: 12 }, () => run(image)))).toEqual(
    Array.from({ length: 12 }, () => INPUT),
  );
});

test("a server for modules alone is ready without an OCI runtime, and refuses other functions", async () => {
  const socket = `unix:${workspace.path("wasm.sock")}`;
  const args = ["--address", socket, "--wasm-only", "--oci-runtime", "/nowhere/crun"];
  await using server = await startRunnerServer(workspace, args);
  expect((await fetch(`${server.http}/readyz`)).status).toBe(200);
  using client = clientOf({ endpoint: socket });
  expect(Buffer.from(await client.run(layout(echoModule()), Buffer.from(INPUT))).toString()).toBe(INPUT);
  const container = client.run(`oci:${workspace.path("busybox")}`, Buffer.from(INPUT), { type: "Chroot" });
  await expect(container).rejects.toMatchObject({ code: "PermissionDenied" });
  expect((await fetch(`${server.http}/readyz`)).status).toBe(200);
});

test("a Composition with type: Wasm renders without an OCI runtime, as a function and as a step", async () => {
  layout(echoModule(), { folder: "work/module" });
  await workspace.write("xr.yaml", "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\n");
  const head =
    "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: a}\nspec:\n" +
    "  compositeTypeRef: {apiVersion: example.org/v1, kind: App}\n";
  const wasm = "wasm: {image: oci:module, timeout: 60s, resources: {limits: {memory: 64Mi}}}";
  const forms = [
    `${head}  functions: [{name: echo, type: Wasm, ${wasm}}]\n`,
    `${head}  mode: Pipeline\n  pipeline: [{step: echo, ${wasm}}]\n`,
  ];
  for (const form of forms) {
    await workspace.write("composition.yaml", form);
    const rendered = await workspace.xfn(["render", "xr.yaml", "composition.yaml"], { env: { PATH: "/nowhere" } });
    expect(rendered).toMatchObject({ code: 0, stderr: "" });
    expect(rendered.stdout).toContain("kind: App");
  }
});

test("a function in Rust is compiled and runs", needs("rust-wasm"), async () => {
  await workspace.write("rust/Cargo.toml", '[package]\nname = "echo"\nversion = "0.1.0"\nedition = "2021"\n');
  await workspace.write(
    "rust/src/main.rs",
    "fn main() {\n    std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap();\n}\n",
  );
  const build = ["build", "rust", "--platform", "wasip1/wasm", "-t", "oci:echo"];
  const { env } = process;
  const home = env["HOME"] ?? "/";
  const folders = {
    CARGO_HOME: env["CARGO_HOME"] ?? join(home, ".cargo"),
    RUSTUP_HOME: env["RUSTUP_HOME"] ?? join(home, ".rustup"),
  };
  expect(await workspace.xfn(build, { env: folders })).toMatchObject({ code: 0 });
  expect(await run(`oci:${join(workspace.root, "work/echo")}`)).toBe(INPUT);
});

/** Whether a process runs a module for this one. It can end while this reads. */
function isModuleProcess(pid: string): boolean {
  try {
    const [, parent] = /\nPPid:\t(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/wasm/dist/guest/");
  } catch {
    return false;
  }
}

async function run(image: string, options: RunOptions = {}): Promise<string> {
  return Buffer.from(await runner.run(image, Buffer.from(INPUT), options)).toString();
}

let count = 0;

interface LayoutOptions {
  readonly wasmToOci?: boolean;
  readonly twice?: boolean;
  readonly folder?: string;
}

/** Writes an OCI layout whose image is one module. */
function layout(
  module: Buffer,
  { wasmToOci = false, twice = false, folder = `image-${++count}` }: LayoutOptions = {},
): string {
  const directory = join(workspace.root, folder);
  mkdirSync(join(directory, "blobs/sha256"), { recursive: true });
  const blob = (mediaType: string, bytes: Buffer | string): object => {
    const hex = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(directory, "blobs/sha256", hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: Buffer.byteLength(bytes) };
  };
  const layer = blob(wasmToOci ? "application/vnd.wasm.content.layer.v1+wasm" : "application/wasm", module);
  const config = wasmToOci
    ? blob("application/vnd.wasm.config.v1+json", "{}")
    : blob("application/vnd.wasm.config.v0+json", '{"os":"wasip1","architecture":"wasm"}');
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const layers = twice ? [layer, layer] : [layer];
  const manifest = blob(mediaType, JSON.stringify({ schemaVersion: 2, mediaType, config, layers }));
  writeFileSync(join(directory, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
  writeFileSync(join(directory, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  return `oci:${directory}`;
}

/** An image with a file as its entrypoint, as a Dockerfile makes it. */
async function ordinaryImage(file: Buffer, entrypoint: readonly string[] = ["/fn.wasm"]): Promise<string> {
  const { buildImage } = await import("@xfn/oci-rootfs");
  const name = `oci:${join(workspace.root, `image-${++count}`)}`;
  const path = entrypoint[0] === "/program" ? "program" : "fn.wasm";
  await buildImage({
    store: await openStore({ dir: join(workspace.root, "store") }),
    name,
    layers: [{ entries: [{ path, content: file, mode: 0o755 }] }],
    config: { entrypoint },
  });
  return name;
}
