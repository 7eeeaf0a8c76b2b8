import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { isObject, type JsonObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { buildHelm } from "./go-program.ts";
import { CHECKOUT } from "./paths.ts";

// Helm 3, for tests that declare `needs("helm")`.

export const CHART = join(CHECKOUT, "deploy/chart");

/** The result of one run of Helm. */
export interface HelmResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Helm with an empty home. @param kubeconfig of the cluster; absent: a command that needs none */
export function helm(args: readonly string[], { home, kubeconfig }: { home: string; kubeconfig?: string }): HelmResult {
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig ?? join(home, "kubeconfig") };
  return spawnSync(buildHelm(), args, { encoding: "utf8", env, maxBuffer: 64 * 1024 * 1024 });
}

/** The arguments that set values. */
export function valueArguments(values: JsonObject): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
}

/** The objects in Helm's or kustomize's output. */
export function objectsOf(text: string): JsonObject[] {
  return readDocuments(text).flatMap(({ value }) => (isObject(value) ? [value] : []));
}
