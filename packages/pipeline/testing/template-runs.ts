// Fixtures of the tests that run templates.
import type { JsonValue } from "@xfn/json";
import { type InProcessFunction, inProcessRunner } from "../src/in-process.ts";
import type { PipelineInput } from "../src/steps/pipeline-input.ts";
import { bucket, compositionOf, xr } from "./fixtures.ts";

export type Json = Record<string, JsonValue>;

export const base = { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" } };
export const copySize = { type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "spec.size" };
export const required = { policy: { fromFieldPath: "Required" } };
export const broken = { ...copySize, fromFieldPath: "spec.nope", ...required };

/** A template; its base is a bucket. */
export function template(name: string, patches: Json[] = [], rest: Json = {}): Json {
  return { name, base, patches, ...rest };
}

/** A run of templates and then of functions as steps `step-1`, ... with the images `image-1`, ... */
export function templateRun(templates: Json[], functions: InProcessFunction[] = [], spec: Json = {}): PipelineInput {
  const images = functions.map((run, index): [string, InProcessFunction] => [`image-${index + 1}`, run]);
  const steps = images.map(([image], index) => ({ name: `step-${index + 1}`, container: { image } }));
  return {
    composite: xr(),
    composition: compositionOf(steps, { resources: templates, ...spec }),
    runner: inProcessRunner(Object.fromEntries(images)),
  };
}

export function observedBucket(name: string, rest: Json = {}, details: Record<string, string> = {}) {
  return {
    name,
    resource: bucket({ metadata: { name: `store-${name}` }, ...rest }),
    connectionDetails: Object.entries(details).map(([key, value]) => ({ name: key, value })),
  };
}

export const isReadyNow = { status: { conditions: [{ type: "Ready", status: "True" }], url: "http://x" } };

export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
