import type { Check } from "./check.ts";
import type { Host } from "./host.ts";
import { installCommand } from "./package-manager.ts";

// CVE-2025-24965: a krun image could write outside its root through .krun_config.json; fixed in 1.20.
const FIRST_FIXED = [1, 20] as const;

/** crun is there, and new enough to have its known security fixes. */
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
  const { code, stdout, stderr } = await host.exec(path, ["--version"]);
  const version = /^crun version (\S+)/m.exec(stdout)?.[1];
  if (code !== 0 || version === undefined) {
    return {
      ...check,
      status: "fail",
      detail: `${path} --version failed: ${stderr.trim() || "no version in its output"}`,
      remedy: await installCommand(host, "crun"),
    };
  }
  if (isOlder(version, FIRST_FIXED)) {
    return {
      ...check,
      status: "warn",
      detail: `${version} at ${path} lacks security fixes (CVE-2025-24965 is fixed in 1.20; Debian 12 ships 1.8.1)`,
      remedy: "install crun 1.20 or newer: Debian 13's package, or https://github.com/containers/crun/releases",
    };
  }
  return { ...check, status: "ok", detail: `${version} at ${path}` };
}

function isOlder(version: string, than: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major < than[0] || (major === than[0] && minor < than[1]);
}
