import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { documentOf, parseComposition } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/json";
import { type ImageConfig, processConfig } from "@xfn/oci-rootfs";
import { cpuQuota, runtimeSpec } from "@xfn/runner";
import type { Adapter } from "../adapter.ts";
import { child, list } from "../rule.ts";

/**
 * The runtime specification of a call, from the image's configuration and accounts, and from the Composition's limits
 * and network. Compares only fields that depend on these, and fields of the isolation. The runtime chooses the others,
 * such as mount options and masked paths.
 */
export const imageSpec: Adapter = {
  async run(vector) {
    const process = await readProcess(child(vector, "imageConfig") as ImageConfig, child(vector, "files"));
    const { network, limits } = readRunOptions(child(vector, "run"));
    const spec = JSON.parse(
      runtimeSpec(process, {
        network,
        owner: { uid: 0, gid: 0 },
        rootfs: "rootfs",
        dev: "dev",
        networkFiles: { resolvConf: "/etc/resolv.conf", hosts: "/etc/hosts" },
      }),
    ) as JsonObject;
    const { memoryBytes, cpus } = limits;
    const resources = {
      ...(memoryBytes !== undefined && { memory: { limit: memoryBytes } }),
      ...(cpus !== undefined && { cpu: { quota: cpuQuota(cpus) } }),
    };
    const { uid, gid, additionalGids } = process.user;
    return {
      ...spec,
      // A sandbox has one group. The user of the image is compared as a whole.
      process: {
        ...child(spec, "process"),
        user: { uid, gid, ...(additionalGids.length > 0 && { additionalGids: [...additionalGids] }) },
      },
      linux: { ...child(spec, "linux"), resources },
    };
  },
  normalize: (output) => (isObject(output) ? relevant(output) : output),
};

/** The mounts that could expose state of the host. Other mounts are empty. */
const SHARED_MOUNTS = ["/proc", "/sys", "/etc/resolv.conf", "/etc/hosts"];

function relevant(spec: JsonObject): JsonObject {
  const process = child(spec, "process");
  const linux = child(spec, "linux");
  const { memory, cpu } = child(linux, "resources");
  const { args, env, cwd, user } = process;
  const mounts = list(spec["mounts"]).filter(({ destination }) => SHARED_MOUNTS.includes(String(destination)));
  return {
    hostname: spec["hostname"] ?? null,
    process: { args, env, cwd, user, capabilities: child(process, "capabilities")["bounding"] ?? [] },
    root: String(child(spec, "root")["path"]),
    namespaces: list(linux["namespaces"])
      .map(({ type }) => String(type))
      .toSorted(),
    mounts: mounts.map(({ destination, type }) => `${String(destination)} ${String(type)}`).toSorted(),
    resources: { ...(isObject(memory) && { memory }), ...(isObject(cpu) && { cpu }) },
  } as JsonObject;
}

/** The process of an image with the case's files in its only layer. */
async function readProcess(config: ImageConfig, files: JsonObject): ReturnType<typeof processConfig> {
  const dir = mkdtempSync(join(tmpdir(), "xfn-vectors-image-"));
  try {
    mkdirSync(join(dir, "fs/etc"), { recursive: true });
    for (const [path, content] of Object.entries(files)) writeFileSync(join(dir, "fs", path), String(content));
    return await processConfig({ name: "vector", config, layers: [join(dir, "fs")] });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

interface RunOptions {
  network: "Isolated" | "Accessible";
  limits: { memoryBytes?: number; cpus?: number };
}

/** The run options of a function with these limits and this network. */
function readRunOptions({ limits, network }: JsonObject): RunOptions {
  const container = {
    image: "vector",
    ...(limits !== undefined && { resources: { limits } }),
    ...(network !== undefined && { network: { policy: network } }),
  };
  const composition = parseComposition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "vector" },
      spec: {
        compositeTypeRef: { apiVersion: "apps.acme.example/v1", kind: "XApp" },
        functions: [{ name: "vector", type: "Container", container }],
      },
    }),
  );
  const [first] = composition.spec.functions;
  const read = first?.type === "Container" ? first.container : undefined;
  if (read === undefined) throw new Error("the function of the case is lost");
  return { network: read.network, limits: read.resources.limits };
}
