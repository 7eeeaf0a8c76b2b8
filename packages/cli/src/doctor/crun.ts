import { knownDefect, VERSION_ARGUMENTS } from "@xfn/runner";
import type { Check } from "./check.ts";
import type { Host } from "./host.ts";
import { installCommand } from "./package-manager.ts";

/** Checks that crun is installed, with the fixes of its known vulnerabilities. */
export async function checkCrun(host: Host): Promise<Check> {
  const check = { id: "crun", title: "crun" };
  const path = host.which("crun");
  if (path === undefined) {
    return {
      ...check,
      status: "fail",
      detail: "not found on PATH; it starts the containers",
      remedy: await installCommand(host, "crun"),
    };
  }
  const { code, stdout, stderr } = await host.exec(path, VERSION_ARGUMENTS);
  const version = /^crun version (\S+)/m.exec(stdout)?.[1];
  if (code !== 0 || version === undefined) {
    return {
      ...check,
      status: "fail",
      detail: `${path} --version failed: ${stderr.trim() || "no version in its output"}`,
      remedy: await installCommand(host, "crun"),
    };
  }
  const defect = knownDefect({ family: "crun", version });
  if (defect !== undefined) {
    return {
      ...check,
      status: "warn",
      detail: `${version} at ${path} ${defect}`,
      remedy: "install crun 1.20 or newer: Debian 13's package, or https://github.com/containers/crun/releases",
    };
  }
  return { ...check, status: "ok", detail: `${version} at ${path}` };
}
