import { type ChildProcess, spawn, spawnSync } from "node:child_process";
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

interface HelmOptions {
  /** An empty folder, or that of an earlier run. */
  readonly home: string;
  /** Path of the cluster's kubeconfig; absent: a command that needs none. */
  readonly kubeconfig?: string;
}

/** Runs Helm to its end. */
export function helm(args: readonly string[], options: HelmOptions): HelmResult {
  const run = { encoding: "utf8", env: environment(options), maxBuffer: 64 * 1024 * 1024 } as const;
  return spawnSync(buildHelm(), args, run);
}

/** Starts Helm, whose output is discarded. */
export function startHelm(args: readonly string[], options: HelmOptions): ChildProcess {
  return spawn(buildHelm(), args, { env: environment(options), stdio: "ignore" });
}

function environment({ home, kubeconfig = join(home, "kubeconfig") }: HelmOptions): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig };
}

/** The arguments that set values. */
export function valueArguments(values: JsonObject): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
}

/** The objects in Helm's or kustomize's output. */
export function objectsOf(text: string): JsonObject[] {
  return readDocuments(text).flatMap(({ value }) => (isObject(value) ? [value] : []));
}
