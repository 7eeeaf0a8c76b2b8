import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { RunnerError } from "./runner-error.ts";

// sudo and cron give short paths; distributions put crun in any of these.
const usualDirectories = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The absolute path of crun. @throws RunnerError `RuntimeMissing`, saying how to install it */
export function findRuntime(name: string = "crun", path: string = process.env["PATH"] ?? ""): string {
  const candidates = isAbsolute(name)
    ? [name]
    : [...path.split(delimiter).filter(isAbsolute), ...usualDirectories].map((directory) => join(directory, name));
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The next one.
    }
  }
  throw new RunnerError(
    "RuntimeMissing",
    `${name} is not installed, and functions run in its containers: install it with your package manager (on Debian and Ubuntu, as root: apt-get install crun); \`xfn doctor\` tells more`,
    { phase: "start", retryable: false },
  );
}
