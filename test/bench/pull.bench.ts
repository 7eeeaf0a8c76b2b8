import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildImage, openStore } from "@xfn/oci-rootfs";
import { startRegistry } from "../harness/registry.ts";
import { interleave, median, report, timed } from "./figure.ts";

// Not the Sync ones: nobody would read the registry's log meanwhile, and it would wait for a reader.
const execute = promisify(execFile);

const layers = 8;
const filesPerLayer = 250;
const bytesPerFile = 100_000;
const runs = 5;

/** Pulling and unpacking a 200 MB image of 8 layers from a registry on loopback, against skopeo and umoci. */
export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  const registry = await startRegistry();
  try {
    const layout = join(directory, "layout");
    const store = await openStore({ dir: join(directory, "build") });
    await buildImage({
      store,
      name: `oci:${layout}:big`,
      layers: Array.from({ length: layers }, (_, layer) => ({
        entries: Array.from({ length: filesPerLayer }, (_, file) => ({
          path: `layer-${layer}/${file % 10}/file-${file}`,
          content: halfRandom(`${layer}/${file}`, bytesPerFile),
        })),
      })),
      config: { entrypoint: ["/none"] },
    });
    const reference = `${registry.host}/bench/big:1`;
    await execute("skopeo", ["copy", "-q", "--dest-tls-verify=false", `oci:${layout}:big`, `docker://${reference}`]);

    let count = 0;
    const rss: number[] = [];
    const result = await interleave(
      runs,
      () => {
        const to = join(directory, `ours-${count++}`);
        return timed(async () => {
          const child = await execute(process.execPath, [
            join(import.meta.dirname, "pull-child.ts"),
            to,
            registry.host,
            reference,
          ]);
          rss.push(Number(child.stdout));
        }).finally(() => rmSync(to, { recursive: true }));
      },
      () => {
        const to = join(directory, `peer-${count++}`);
        return timed(async () => {
          await execute("skopeo", ["copy", "-q", "--src-tls-verify=false", `docker://${reference}`, `oci:${to}:big`]);
          await execute("umoci", ["unpack", "--rootless", "--image", `${to}:big`, `${to}-bundle`]);
        }).finally(() => {
          for (const made of [to, `${to}-bundle`]) rmSync(made, { recursive: true });
        });
      },
    );
    report({
      name: "pull/200MB-8-layers",
      unit: "ms",
      runs,
      value: result.ours,
      peer: { name: "skopeo copy + umoci unpack", value: result.peer },
      ratio: result.ratio,
    });
    report({ name: "pull/200MB-8-layers-memory", unit: "MB", runs, value: median(rss) });
  } finally {
    await registry.stop();
    rmSync(directory, { recursive: true });
  }
}

/** Bytes that compress to about a half, as programs do; the same for the same seed. */
function halfRandom(seed: string, length: number): Buffer {
  const bytes = Buffer.alloc(length, "xfn ");
  for (let at = 0, block = 0; at < length; at += 128, block++) {
    createHash("sha512").update(`${seed}/${block}`).digest().copy(bytes, at);
  }
  return bytes;
}
