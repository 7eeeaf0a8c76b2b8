// Pins the newest Debian packages of the images' base in debian.json: for each architecture the path in the archive and
// the hash of each package. A private apt configuration leaves the machine's packages and lists alone.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARCHITECTURES, debianMirror, LOCK, type LockedPackage, PACKAGES } from "./debian.ts";
import { run } from "./downloads.ts";

/** Its crun has the security fixes that older releases lack. */
const SUITE = "trixie";

const folder = mkdtempSync(join(tmpdir(), "xfn-apt-"));
try {
  for (const name of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "status"), "");
  writeFileSync(
    join(folder, "sources.list"),
    `deb [arch=${ARCHITECTURES.join(",")}] ${debianMirror()} ${SUITE} main\n`,
  );
  const settings = {
    "Dir::Etc::sourcelist": join(folder, "sources.list"),
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::lists": join(folder, "lists"),
    "Dir::State::status": join(folder, "status"),
    "Dir::Cache": join(folder, "cache"),
    "Acquire::Languages": "none",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  for (const architecture of ARCHITECTURES) options.push("-o", `APT::Architectures::=${architecture}`);
  run("apt-get", [...options, "update"]);
  const lock: Record<string, LockedPackage[]> = {};
  for (const architecture of ARCHITECTURES) {
    const names = PACKAGES.toSorted();
    const lines = run("apt-get", [
      ...options,
      "download",
      "--print-uris",
      ...names.map((name) => `${name}:${architecture}`),
    ]);
    lock[architecture] = lines
      .trim()
      .split("\n")
      .map(lockedPackage)
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }
  writeFileSync(LOCK, `${JSON.stringify(lock, undefined, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param line such as `'http://HOST/debian/pool/main/c/crun/crun_1.21-1_amd64.deb' crun_1.21-1_amd64.deb 368640 SHA256:…` */
function lockedPackage(line: string): LockedPackage {
  const [, path, sha256] = /\/(pool\/[^']+)' .* SHA256:([0-9a-f]{64})$/.exec(line) ?? [];
  if (path === undefined || sha256 === undefined) throw new Error(`apt-get printed no path and hash: ${line}`);
  return { path: decodeURIComponent(path), sha256 };
}
