import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { printYaml } from "@xfn/json/document";
import { median, report } from "./figure.ts";

const cli = fileURLToPath(new URL("../../packages/cli/dist/xfn.js", import.meta.url));
const RUNS = 5;
const CRDS = 200;
const COMPOSITIONS = 50;
const OBJECTS = 1_000;
/** Fields of each schema, as many as a small managed resource has. */
const FIELDS = 60;

/** `xfn validate` as a whole process: 1,000 objects and 50 Compositions of 10 templates against 200 CRDs. */
export function run(): void {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    for (const folder of ["crds", "resources"]) mkdirSync(join(directory, folder));
    const write = (name: string, objects: Parameters<typeof printYaml>[0][]): void =>
      writeFileSync(join(directory, name), objects.map(printYaml).join("---\n"));
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
    for (const at of numbers(CRDS)) write(`crds/${at}.yaml`, [crd(at)]);
    write("resources/objects.yaml", numbers(OBJECTS).map(object));
    write("resources/compositions.yaml", numbers(COMPOSITIONS).map(composition));
    const times = numbers(RUNS + 1).map(() => {
      const start = performance.now();
      const args = [cli, "validate", join(directory, "crds"), join(directory, "resources"), "--skip-success-results"];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      const wanted = `${OBJECTS + COMPOSITIONS} success cases`;
      if (status !== 0 || !stdout.includes(wanted)) throw new Error(`exited with ${status}: ${stdout}${stderr}`);
      return performance.now() - start;
    });
    report({ name: "validate/1000-objects", unit: "ms", runs: RUNS, value: median(times.slice(1)), goal: 2_000 });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function crd(at: number): Parameters<typeof printYaml>[0] {
  const fields = Array.from({ length: FIELDS }, (_, field) => [
    `field${field}`,
    { type: "string", description: "A field of the provider's API.", maxLength: 64 },
  ]);
  const rules = [{ rule: "!has(self.field0) || self.field0 != 'never'", message: "is never right" }];
  const spec = { type: "object", properties: Object.fromEntries(fields), "x-kubernetes-validations": rules };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `kind${at}s.bench.example.org` },
    spec: {
      group: "bench.example.org",
      names: { kind: `Kind${at}`, plural: `kind${at}s` },
      scope: "Cluster",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status: { type: "object" } } } },
        },
      ],
    },
  };
}

function object(at: number): Parameters<typeof printYaml>[0] {
  const spec = { field0: "a", field1: `value ${at}`, field2: "b" };
  return { apiVersion: "bench.example.org/v1", kind: `Kind${at % CRDS}`, metadata: { name: `object-${at}` }, spec };
}

function composition(at: number): Parameters<typeof printYaml>[0] {
  const resources = Array.from({ length: 10 }, (_, index) => ({
    name: `resource-${index}`,
    base: { apiVersion: "bench.example.org/v1", kind: `Kind${(at + index) % CRDS}`, spec: { field0: "a" } },
    patches: Array.from({ length: 5 }, (_, patch) => ({
      type: "FromCompositeFieldPath",
      fromFieldPath: `spec.field${patch}`,
      toFieldPath: `spec.field${patch + 1}`,
    })),
  }));
  const compositeTypeRef = { apiVersion: "bench.example.org/v1", kind: `Kind${at}` };
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: `composition-${at}` },
    spec: { compositeTypeRef, resources },
  };
}
