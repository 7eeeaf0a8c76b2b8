// The archives of xfn with everything that it needs, for people who do not install it with npm.
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../image/downloads.ts";
import { npmPackage } from "../image/npm-package.ts";
import { type LockedPackage, lockedClosure } from "./locked-closure.ts";
import { tarball } from "./tarball.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LOCK = new URL("../../package-lock.json", import.meta.url);

/** A platform with an archive. npm's registry has Node 24 for Linux alone: elsewhere, xfn runs on an installed Node. */
export interface ArchivePlatform {
  readonly os: "linux" | "darwin";
  /** Node's name, and Kubernetes' name. */
  readonly cpu: "x64" | "arm64";
  readonly architecture: "amd64" | "arm64";
}

export const PLATFORMS: readonly ArchivePlatform[] = (["linux", "darwin"] as const).flatMap((os) => [
  { os, cpu: "x64", architecture: "amd64" },
  { os, cpu: "arm64", architecture: "arm64" },
]);

/** The same file under two names: Krew refuses archives with links. */
const LAUNCHER = `#!/bin/sh
# Runs xfn on the Node beside it, or on that of the PATH.
path=$(readlink -f "$0")
home=\${path%/bin/*}
node=$home/node/bin/node
[ -x "$node" ] || node=$(command -v node) || {
  echo "xfn: Node 24 or newer is required on this system, and node is not on the PATH" >&2
  exit 1
}
exec "$node" "$home/node_modules/@xfn/cli/dist/xfn.js" "$@"
`;

export function archiveName(version: string, { os, cpu }: ArchivePlatform): string {
  return `xfn-${version}-${os}-${cpu}`;
}

/** Packs an archive for each platform. @param npm the folder of the packages' tarballs. @param scratch for copies */
export function packArchives(version: string, npm: string, output: string, scratch: string): void {
  for (const platform of PLATFORMS) {
    const name = archiveName(version, platform);
    const folder = join(scratch, name);
    mkdirSync(join(folder, "bin"), { recursive: true });
    for (const program of ["xfn", "kubectl-xfn"])
      writeFileSync(join(folder, "bin", program), LAUNCHER, { mode: 0o755 });
    cpSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
    for (const [path, entry] of lockedClosure(LOCK, "@xfn/cli", platform.os, platform.cpu))
      if (entry.link === true) unpackOwn(join(folder, path), npm, version);
      else copyPackage(path, entry, folder);
    if (platform.os === "linux") copyNode(platform.cpu, join(folder, "node"));
    tarball(scratch, name, join(output, `${name}.tar.gz`));
    rmSync(folder, { recursive: true });
  }
}

function unpackOwn(target: string, npm: string, version: string): void {
  mkdirSync(target, { recursive: true });
  const file = join(npm, `xfn-${basename(target)}-${version}.tgz`);
  run("tar", ["-xzf", file, "--strip-components=1", "--no-same-owner", "-C", target]);
}

/** Copies a package from the checkout, or from npm's registry if the checkout's depends on the machine. */
function copyPackage(path: string, { os, hasInstallScript }: LockedPackage, folder: string): void {
  const from =
    os === undefined && hasInstallScript !== true
      ? join(ROOT, path)
      : npmPackage(LOCK, path.replace(/^node_modules\//, ""));
  // Packages below have entries of their own.
  const isOwn = (file: string): boolean => !file.slice(from.length).includes("/node_modules");
  const target = join(folder, path.replace(/^packages\//, "node_modules/@xfn/"));
  cpSync(from, target, { recursive: true, dereference: true, filter: isOwn });
}

function copyNode(cpu: string, target: string): void {
  const lock = new URL(`../node/linux-${cpu}/package-lock.json`, import.meta.url);
  const node = npmPackage(lock, `node-linux-${cpu}`);
  for (const file of ["bin/node", "LICENSE"]) cpSync(join(node, file), join(target, file));
}
