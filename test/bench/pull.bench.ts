import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildImage, openStore } from "@xfn/oci-rootfs";
import { startRegistry } from "../harness/registry.ts";
import { interleave, median, report, timed } from "./figure.ts";

// Do not use the Sync functions: without a reader of its log the registry would block.
const execute = promisify(execFile);

const runs = Number(process.env["XFN_BENCH_RUNS"] ?? 5);
const CHILD = join(import.meta.dirname, "pull-child.mjs");

interface Shape {
  readonly name: string;
  readonly layers: number;
  readonly filesPerLayer: number;
  /** Content of the n-th file of a layer. */
  readonly bytes: (file: number) => number;
  readonly path: (layer: number, file: number) => string;
}

const SHAPES: readonly Shape[] = [
  {
    name: "200MB-8-layers",
    layers: 8,
    filesPerLayer: 250,
    bytes: () => 100_000,
    path: (layer, file) => `layer-${layer}/${file % 10}/file-${file}`,
  },
  {
    name: "30000-small-files",
    layers: 4,
    filesPerLayer: 7500,
    bytes: (file) => 1 + (file % 3000),
    path: (layer, file) => `node_modules/package-${layer}-${file % 300}/lib/file-${file}.js`,
  },
];

/** Pulling and unpacking images from a registry on loopback, against skopeo and umoci; a second pull; memory. */
export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  const registry = await startRegistry();
  try {
    const store = await openStore({ dir: join(directory, "build") });
    const push = async (name: string, layers: Parameters<typeof buildImage>[0]["layers"]): Promise<string> => {
      await buildImage({ store, name: `oci:${directory}/layout:${name}`, layers, config: { entrypoint: ["/none"] } });
      const reference = `${registry.host}/bench/${name.toLowerCase()}:1`;
      const from = `oci:${directory}/layout:${name}`;
      await execute("skopeo", ["copy", "-q", "--dest-tls-verify=false", from, `docker://${reference}`]);
      return reference;
    };
    for (const shape of SHAPES) {
      const layers = Array.from({ length: shape.layers }, (_, layer) => ({
        entries: Array.from({ length: shape.filesPerLayer }, (_, file) => ({
          path: shape.path(layer, file),
          content: halfRandom(`${layer}/${file}`, shape.bytes(file)),
        })),
      }));
      await compare(shape.name, directory, registry.host, await push(shape.name, layers));
    }
    // Ten layers of 100 MB of noise, so that the packed size equals the unpacked one.
    const gigabyte = Array.from({ length: 10 }, (_, layer) => ({
      entries: Array.from({ length: 10 }, (_, file) => ({
        path: `layer-${layer}/${file}`,
        content: createHash("shake256", { outputLength: 10_000_000 }).update(`${layer}/${file}`).digest(),
      })),
    }));
    const { memory } = await pull(join(directory, "gigabyte"), registry.host, await push("1GB", gigabyte));
    report({ name: "pull/1GB-memory", unit: "MB", runs: 1, value: memory, goal: 150 });
  } finally {
    await registry.stop();
    rmSync(directory, { recursive: true });
  }
}

async function compare(name: string, directory: string, host: string, reference: string): Promise<void> {
  let count = 0;
  const memory: number[] = [];
  const again: number[] = [];
  // Remove everything at the end: some filesystems create files slowly after many removals, which would dominate the
  // measurement.
  const result = await interleave(
    runs,
    () => {
      const to = join(directory, `${name}-ours-${count++}`);
      return timed(async () => {
        const pulled = await pull(to, host, reference);
        memory.push(pulled.memory);
        again.push(pulled.again);
      });
    },
    () => {
      const to = join(directory, `${name}-peer-${count++}`);
      return timed(async () => {
        await execute("skopeo", ["copy", "-q", "--src-tls-verify=false", `docker://${reference}`, `oci:${to}:big`]);
        await execute("umoci", ["unpack", "--rootless", "--image", `${to}:big`, `${to}-bundle`]);
      });
    },
  );
  report({
    name: `pull/${name}`,
    unit: "ms",
    runs,
    value: result.ours,
    peer: { name: "skopeo copy + umoci unpack", value: result.peer },
    ratio: result.ratio,
    goal: 0.5,
  });
  report({ name: `pull/${name}-memory`, unit: "MB", runs, value: median(memory), goal: 150 });
  report({ name: `pull/${name}-again`, unit: "ms", runs, value: median(again), goal: 20 });
}

/** Pulls in a separate process. `again` is a second pull in it, which only resolves the name at the registry. */
async function pull(to: string, host: string, reference: string): Promise<{ memory: number; again: number }> {
  const { stdout } = await execute(process.execPath, [CHILD, to, host, reference]);
  return JSON.parse(stdout) as { memory: number; again: number };
}

/** Returns bytes that compress to about a half, as programs do. The seed determines them. */
function halfRandom(seed: string, length: number): Buffer {
  const bytes = Buffer.alloc(length, "xfn ");
  for (let at = 0, block = 0; at < length; at += 128, block++) {
    createHash("sha512").update(`${seed}/${block}`).digest().copy(bytes, at);
  }
  return bytes;
}
