import { parseRuntimeVersion, VERSION_ARGUMENTS } from "@xfn/runner";
import type { Check } from "./check.ts";
import type { Host } from "./host.ts";

/** Runtimes besides the default that `--oci-runtime` can name. */
const RUNTIMES = ["runc", "youki", "runsc"] as const;

/** A line for each installed runtime. One that is missing or does not work needs no action. */
export async function checkOtherRuntimes(host: Host): Promise<readonly Check[]> {
  const checks = await Promise.all(RUNTIMES.map((name) => checkRuntime(host, name)));
  return checks.filter((check) => check !== undefined);
}

async function checkRuntime(host: Host, name: string): Promise<Check | undefined> {
  const path = host.which(name);
  if (path === undefined) return undefined;
  const check = { id: name, title: name, status: "info" } as const;
  const { code, stdout, stderr } = await host.exec(path, VERSION_ARGUMENTS);
  const { family, version } = parseRuntimeVersion(stdout);
  if (code === 0 && family === name)
    return { ...check, detail: `${version} at ${path}; --oci-runtime ${name} uses it after a self-test` };
  return { ...check, detail: `${path} --version failed: ${stderr.trim() || "no version in its output"}` };
}
