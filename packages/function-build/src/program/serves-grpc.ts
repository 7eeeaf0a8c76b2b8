import { readFileSync, statSync } from "node:fs";

/** The name of Crossplane's service, which programs of its SDKs contain in their descriptors and stubs. */
const SERVICE = "FunctionRunnerService";

/** A larger file is data, not a program. */
const MAX_BYTES = 512 * 1024 * 1024;

/** Whether a file of a function is a program or module that serves Crossplane's gRPC. */
export function servesGrpc(paths: readonly string[]): boolean {
  return paths.some((path) => statSync(path).size <= MAX_BYTES && readFileSync(path).includes(SERVICE));
}
