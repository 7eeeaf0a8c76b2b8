import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { RunnerError } from "@xfn/runner-contract";
import type { RuntimeFamily } from "../host/runtime-family.ts";

// sudo and cron set a short PATH, and distributions install crun in any of these directories.
const usualDirectories = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The absolute path of crun. @throws RunnerError `RuntimeMissing`, with instructions to install it */
export function findRuntime(name: string = "crun", path: string = process.env["PATH"] ?? ""): string {
  const candidates = isAbsolute(name)
    ? [name]
    : [...path.split(delimiter).filter(isAbsolute), ...usualDirectories].map((directory) => join(directory, name));
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Try the next one.
    }
  }
  throw new RunnerError(
    "RuntimeMissing",
    `${name} is not installed, and functions run in its containers: install it with your package manager (on Debian and Ubuntu, as root: apt-get install crun); \`xfn doctor\` has more`,
    { phase: "start", retryable: false },
  );
}

/** An OCI runtime of this machine. */
export interface OciRuntime {
  /** Absolute path. */
  path: string;
  family: RuntimeFamily;
  /** The version, such as `1.8.1`; empty for other families. */
  version: string;
}

/**
 * Arguments that print a runtime's version. Newer cruns require a state directory even for this: without `--root`, an
 * ordinary user without `XDG_RUNTIME_DIR` gets an error (seen with 1.21). The directory is not changed.
 */
export const VERSION_ARGUMENTS: readonly string[] = ["--root=/", "--version"];

/** A runtime answers within milliseconds. After this time it is considered to hang. */
const VERSION_TIMEOUT_MS = 10_000;
/** The version has only a few lines. */
const MAX_VERSION_BYTES = 64 * 1024;

/** Identifies a runtime by its --version. @throws RunnerError `StartFailed` if the runtime does not answer */
export async function identifyRuntime(path: string, timeoutMs: number = VERSION_TIMEOUT_MS): Promise<OciRuntime> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(
    path,
    VERSION_ARGUMENTS,
    { timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: MAX_VERSION_BYTES, encoding: "utf8" },
    (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const reason =
        error.killed === true
          ? `it did not answer --version within ${timeoutMs / 1000} s`
          : `--version failed: ${stderr.trim() || error.message}`;
      reject(
        new RunnerError("StartFailed", `the OCI runtime ${path} does not work: ${reason}`, {
          phase: "start",
          retryable: false,
          cause: error,
        }),
      );
    },
  );
  return { path, ...parseRuntimeVersion(await promise) };
}

const FAMILIES: readonly RuntimeFamily[] = ["crun", "runc", "youki", "runsc"];

/** The family and version in the output of --version. */
export function parseRuntimeVersion(text: string): { family: RuntimeFamily; version: string } {
  const [, family, version = ""] = /^(\w+) version:? (\S+)/m.exec(text) ?? [];
  const known = FAMILIES.find((each) => each === family);
  return known === undefined ? { family: "other", version: "" } : { family: known, version };
}

/** The first crun without CVE-2025-24965: a krun image could write outside of its root through .krun_config.json. */
const FIRST_FIXED_CRUN = [1, 20] as const;

/** A known vulnerability of a runtime, as the end of a sentence about it; undefined if there is none. */
export function knownDefect({ family, version }: Pick<OciRuntime, "family" | "version">): string | undefined {
  if (family !== "crun") return undefined;
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [fixedMajor, fixedMinor] = FIRST_FIXED_CRUN;
  if (major > fixedMajor || (major === fixedMajor && minor >= fixedMinor)) return undefined;
  return "lacks security fixes (CVE-2025-24965 is fixed in 1.20; Debian 12 ships 1.8.1)";
}

/** Formats {@link knownDefect} as a warning. */
export function runtimeWarning(runtime: OciRuntime): string | undefined {
  const defect = knownDefect(runtime);
  return defect === undefined
    ? undefined
    : `${runtime.family} ${runtime.version} at ${runtime.path} ${defect}: install crun 1.20 or newer`;
}
