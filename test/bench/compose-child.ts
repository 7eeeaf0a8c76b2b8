// compose-child.ts COMPOSITION XR, both JSON: for each line of stdin, a count, it renders that often and prints the
// nanoseconds taken. XFN_BENCH_COMPOSE_PEER names another engine's program with the same interface.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { compileTemplates, documentOf, parseComposition } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/json";

const [composition = "", xr = ""] = process.argv.slice(2);
const { resources, patchSets } = parseComposition(documentOf(read(composition))).spec;
const composite = read(xr) as unknown as KubernetesObject;
// The engine compiles a Composition once for all XRs and runs.
const compiled = compileTemplates({ resources, patchSets });
const observed = new Map<string, KubernetesObject>();

for await (const line of createInterface({ input: process.stdin })) {
  const began = process.hrtime.bigint();
  for (let run = Number(line); run > 0; run--) compiled.render({ composite, observed });
  console.log(String(process.hrtime.bigint() - began));
}

function read(path: string): JsonObject {
  return JSON.parse(readFileSync(path, "utf8")) as JsonObject;
}
