import { accumulate, fromResourceList, parseFunctionIO, printFunctionIO, toResourceList } from "@xfn/functionio";
import { interleave, report, timed } from "./figure.ts";

const sizes = [1, 10, 50];

/** A FunctionIO of about `megabytes` MB in its wire form: many composed resources of a realistic shape. */
export function largeFunctionIO(megabytes: number): string {
  const resource = (index: number): object => ({
    name: `bucket-${index}`,
    resource: {
      apiVersion: "s3.example.org/v1",
      kind: "Bucket",
      metadata: { name: `bucket-${index}`, labels: { team: "storage", index: String(index) } },
      spec: { region: "eu-west-1", sizeGb: index, public: false, notes: "x".repeat(600), tags: ["a", "b", "c"] },
    },
  });
  const bytes = JSON.stringify(resource(100_000)).length + 1;
  return JSON.stringify({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    observed: { composite: { resource: { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "big" } } } },
    desired: {
      resources: Array.from({ length: Math.round((megabytes * 1e6) / bytes) }, (_, index) => resource(index)),
    },
    results: [],
  });
}

/**
 * Parsing, printing and accumulating FunctionIO of 1, 10 and 50 MB, against JSON.parse and JSON.stringify of the text.
 */
export async function run(): Promise<void> {
  for (const megabytes of sizes) {
    const bytes = Buffer.from(largeFunctionIO(megabytes));
    const runs = megabytes === 50 ? 7 : 15;
    const parse = await interleave(
      runs,
      () => timed(() => parseFunctionIO(bytes)),
      () => timed(() => JSON.parse(bytes.toString("utf8"))),
    );
    report({
      name: `functionio/parse-${megabytes}MB`,
      unit: "ms",
      runs,
      value: parse.ours,
      peer: { name: "JSON.parse", value: parse.peer },
      ratio: parse.ratio,
    });
    const io = parseFunctionIO(bytes);
    const print = await interleave(
      runs,
      () => timed(() => printFunctionIO(io)),
      () => timed(() => JSON.stringify(io)),
    );
    report({
      name: `functionio/print-${megabytes}MB`,
      unit: "ms",
      runs,
      value: print.ours,
      peer: { name: "JSON.stringify", value: print.peer },
      ratio: print.ratio,
    });
    const returned = parseFunctionIO(bytes);
    const accumulated = await interleave(
      runs,
      () => timed(() => accumulate(io, returned, "step")),
      () => timed(() => JSON.parse(bytes.toString("utf8"))),
    );
    report({
      name: `functionio/accumulate-${megabytes}MB`,
      unit: "ms",
      runs,
      value: accumulated.ours,
      peer: { name: "JSON.parse", value: accumulated.peer },
      ratio: accumulated.ratio,
    });
    // Both ways, as a step converts its input and its output.
    const converted = await interleave(
      runs,
      () => timed(() => fromResourceList(toResourceList(io), io)),
      () => timed(() => JSON.parse(bytes.toString("utf8"))),
    );
    report({
      name: `functionio/resource-list-${megabytes}MB`,
      unit: "ms",
      runs,
      value: converted.ours,
      peer: { name: "JSON.parse", value: converted.peer },
      ratio: converted.ratio,
      ...(megabytes === 1 && { goal: 1.5 }),
    });
  }
}
