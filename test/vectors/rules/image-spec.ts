import { isObject, type JsonObject } from "@xfn/json";
import { child, type Rule } from "../rule.ts";
import type { Expected, VectorCase } from "../vector-file.ts";

/** The isolation of a sandbox, which an image cannot change. */
export const sandbox: Rule = {
  name: "sandbox",
  file: "image-spec",
  reason:
    "A function has its own user namespace, no capabilities, a fresh /proc and no /sys; with the runner's network also its hosts file. A relative working directory is below the root. The reference keeps three capabilities, binds the runner's /proc and /sys, and passes such a directory on.",
  applies: () => true,
  outcome: (vector, recorded) =>
    change(recorded, (spec) => {
      const accessible = child(vector, "run")["network"] === "Runner";
      return {
        ...spec,
        hostname: spec["hostname"] === "xfn" ? "function" : spec["hostname"],
        process: { ...child(spec, "process"), cwd: cwdOf(spec), capabilities: { bounding: [] } },
        mounts: [
          { destination: "/proc", type: "proc" },
          ...(accessible ? ["/etc/hosts", "/etc/resolv.conf"] : []).map((destination) => ({
            destination,
            type: "bind",
          })),
        ],
        linux: {
          ...child(spec, "linux"),
          namespaces: ["cgroup", "ipc", "mount", "pid", "user", "uts", ...(accessible ? [] : ["network"])].map(
            (type) => ({
              type,
            }),
          ),
        },
      } as JsonObject;
    }),
};

function cwdOf(spec: JsonObject): string {
  const cwd = String(child(spec, "process")["cwd"]);
  return cwd.startsWith("/") ? cwd : `/${cwd}`;
}

/** CPU has a limit, and no share. */
export const noCpuShares: Rule = {
  name: "no-cpu-shares",
  file: "image-spec",
  reason: "A CPU limit is only a ceiling. The reference also derives a share from it.",
  applies: (vector) => limit(vector, "cpu") !== undefined,
  outcome: (_vector, recorded) => changeResource(recorded, "cpu", ({ quota }) => ({ quota: quota ?? null })),
};

/** Limits of zero or less. */
export const limitsAboveZero: Rule = {
  name: "limits-above-zero",
  file: "image-spec",
  reason: "A limit of zero or less is rejected. The reference applies no bound, or the smallest one.",
  applies: (vector) => ["cpu", "memory"].some((name) => isNotPositive(limit(vector, name))),
  outcome: () => ({ error: "the limit is not above zero" }),
};

/** Limits beyond any machine. */
export const largestMemory: Rule = {
  name: "largest-memory",
  file: "image-spec",
  reason:
    "A memory limit of 8 PiB or more becomes 8 PiB less a byte. The reference caps at 2^63-1 bytes, and larger numbers wrap around.",
  applies: (vector) => isHuge(limit(vector, "memory")),
  outcome: (_vector, recorded) => changeResource(recorded, "memory", () => ({ limit: Number.MAX_SAFE_INTEGER })),
};

function limit(vector: VectorCase, name: string): string | undefined {
  const value = child(child(vector, "run"), "limits")[name];
  return typeof value === "string" ? value : undefined;
}

function change(recorded: Expected, by: (spec: JsonObject) => JsonObject): Expected {
  return "output" in recorded && isObject(recorded.output) ? { output: by(recorded.output) } : recorded;
}

function changeResource(recorded: Expected, name: string, by: (resource: JsonObject) => object): Expected {
  return change(recorded, (spec) => {
    const linux = child(spec, "linux");
    const resources = child(linux, "resources");
    return {
      ...spec,
      linux: { ...linux, resources: { ...resources, [name]: by(child(resources, name)) } },
    } as JsonObject;
  });
}

const QUANTITY = /^([+-]?)([0-9]*\.?[0-9]*)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]+)$/;
const SUFFIXES: Readonly<Record<string, number>> = {
  ...Object.fromEntries(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, at) => [suffix, 1024 ** (at + 1)])),
  ...Object.fromEntries(
    ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, at) => [suffix, 10 ** (3 * at - 9)]),
  ),
};

/** The approximate value of a quantity. Undefined if it is none. */
function amount(text: string | undefined): number | undefined {
  const [, sign, digits = "", suffix = ""] = QUANTITY.exec(text ?? "x") ?? [];
  if (sign === undefined || text === "") return undefined;
  const scale = SUFFIXES[suffix] ?? 10 ** Number(suffix.slice(1));
  return (sign === "-" ? -1 : 1) * Number(`0${digits}`) * scale;
}

function isNotPositive(text: string | undefined): boolean {
  const value = amount(text);
  return value !== undefined && value <= 0;
}

function isHuge(text: string | undefined): boolean {
  return (amount(text) ?? 0) > Number.MAX_SAFE_INTEGER;
}
